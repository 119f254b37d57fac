import type { World } from "./world.ts";

/** What asks a program to end: Ctrl-C, a service manager, a terminal that closes. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Aborts when this process is asked to end, or when nobody reads its output any more.
 *
 * A second request of the same kind is not caught: it ends a process that does not come to its end.
 */
export function stopSignal({ stdout }: Pick<World, "stdout">): AbortSignal {
  const stop = new AbortController();
  for (const signal of SIGNALS) process.once(signal, () => stop.abort());
  stdout.once("error", () => stop.abort());
  return stop.signal;
}

import { request } from "../../client/request.ts";
import type { SocketChoice } from "../../platform/paths.ts";
import { listingText } from "../listing.ts";
import { showLive } from "../live.ts";
import { type SocketOption, socketOf } from "../socket.ts";
import { followSessions, reachDaemon } from "../source.ts";
import { stopSignal } from "../stop-signal.ts";
import { terminalOut } from "../terminal-out.ts";
import type { World } from "../world.ts";

export type WatchOptions = SocketOption & { output: "table" | "ndjson"; all?: boolean };

/**
 * Shows the sessions live on a terminal, prints them once into anything else, or prints a line of
 * JSON for each change.
 */
export async function watch(options: WatchOptions, world: World): Promise<number> {
  const { all = false, output } = options;
  const { stdout, host, clock } = world;
  const choice = socketOf(options, world);
  const signal = stopSignal(world);
  if (output === "ndjson") await printChanges(choice, world, signal);
  else if (!stdout.isTTY || host.env.TERM === "dumb") await printOnce(choice, all, world, signal);
  else {
    // A given socket without a daemon is said on the terminal as it is.
    if (choice.given) await reachDaemon({ choice, world, signal });
    const gone = new AbortController();
    const out = terminalOut(stdout.fd, clock, () => gone.abort());
    await showLive({ choice, all, world, out, signal: AbortSignal.any([signal, gone.signal]) });
  }
  return 0;
}

async function printOnce(
  choice: SocketChoice,
  all: boolean,
  world: World,
  signal: AbortSignal,
): Promise<void> {
  const printed = new AbortController();
  const options = { choice, world, signal: AbortSignal.any([signal, printed.signal]) };
  const embedded = await reachDaemon(options);
  try {
    const { sessions } = await request(choice.path, "sessions", "list", null, { signal });
    world.stdout.write(listingText(sessions, all, world));
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    printed.abort();
    await embedded?.done;
  }
}

async function printChanges(
  choice: SocketChoice,
  world: World,
  signal: AbortSignal,
): Promise<void> {
  let last: string | undefined;
  await followSessions({
    choice,
    world,
    signal,
    onFrame: (text) => {
      if (text !== last) world.stdout.write(`${text}\n`);
      last = text;
    },
    onState: (state) => {
      if (state === "lost") world.stderr.write("daemon lost, reconnecting…\n");
    },
    onEmbedded: () => {},
  });
}

import { type Clock, wait } from "../platform/clock.ts";
import { currentHost, type Host } from "../platform/paths.ts";
import { builtinService } from "./builtin.ts";
import { describeBug, type Log } from "./log.ts";
import { routerOf } from "./router.ts";
import { Server } from "./server.ts";
import type { Service, ServiceContext } from "./service.ts";
import { type Claim, claimSocket } from "./socket.ts";
import { resampleMs as resampleSetting } from "./topic.ts";

/** How long replies in flight may take when the daemon stops. */
const DRAIN_MS = 5000;

/** How often the daemon looks whether clients still reach it. */
const OWNERSHIP_MS = 2000;

export type DaemonOptions = {
  socketPath: string;
  /** The socket is where everybody looks; its directory is then ours alone. */
  isDefault: boolean;
  clock: Clock;
  /** Makes the services; called once, when it is sure that this is the one daemon. */
  services: (context: ServiceContext) => readonly Service[];
  log: Log;
  /** Stops the daemon. */
  signal?: AbortSignal;
  resampleMs?: number;
  host?: Pick<Host, "uid" | "platform">;
};

/** `displaced`: another daemon has the socket now, and this one left it alone. */
export type DaemonEnd = "stopped" | "displaced";

export interface RunningDaemon {
  readonly socketPath: string;
  /** Resolves when the last connection is closed; never rejects. */
  readonly done: Promise<DaemonEnd>;
  /** Stops accepting, removes the socket, lets replies in flight finish. Resolves with `done`. */
  stop(): Promise<void>;
}

/**
 * Starts the one daemon behind a socket. It answers from the moment this resolves.
 *
 * @throws ToolError `daemonRunning`, `socketPathTooLong`, `socketPathUnsafe`, `daemonStartFailed`.
 */
export async function startDaemon(options: DaemonOptions): Promise<RunningDaemon> {
  const { socketPath, isDefault, clock, log, signal } = options;
  const { uid, platform } = options.host ?? currentHost();
  const claim = await claimSocket({ socketPath, isDefault, uid, platform });
  const life = new AbortController();
  const services = startServices(options, claim, life);
  const server = new Server({ route: routerOf([builtin(), ...services]), clock, log });

  const accepting = new AbortController();
  const { promise: done, resolve } = deferred<DaemonEnd>();
  const stopOnAbort = () => end("stopped");

  function builtin() {
    return builtinService({ services, stop: () => end("stopped") });
  }

  function end(how: DaemonEnd): void {
    if (accepting.signal.aborted) return;
    accepting.abort();
    signal?.removeEventListener("abort", stopOnAbort);
    log("info", how === "stopped" ? "Stopping." : `Another daemon has ${socketPath}; stopping.`);
    claim.release();
    void server.drain(DRAIN_MS).then(() => {
      life.abort();
      for (const topic of services.flatMap(({ streams }) => Object.values(streams))) topic.close();
      resolve(how);
    });
  }

  claim.serve((socket) => server.accept(socket));
  void watchOwnership({
    claim,
    clock,
    log,
    signal: accepting.signal,
    displaced: () => end("displaced"),
  });
  log("info", `Listening at ${socketPath}.`);
  signal?.addEventListener("abort", stopOnAbort);
  if (signal?.aborted) stopOnAbort();

  return {
    socketPath,
    done,
    async stop() {
      end("stopped");
      await done;
    },
  };
}

function startServices(
  { clock, log, services, resampleMs = resampleSetting(undefined) }: DaemonOptions,
  claim: Claim,
  life: AbortController,
): readonly Service[] {
  try {
    return services({ clock, log, signal: life.signal, resampleMs });
  } catch (error) {
    life.abort();
    claim.release();
    throw error;
  }
}

/** Listens again when something removed the socket; tells when another daemon took it. */
async function watchOwnership(options: {
  claim: Claim;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
  displaced: () => void;
}): Promise<void> {
  const { claim, clock, log, signal } = options;
  for (;;) {
    await wait(clock, OWNERSHIP_MS, signal);
    if (signal.aborted) return;
    switch (claim.check()) {
      case "ours":
        continue;
      case "displaced":
        options.displaced();
        return;
      case "missing":
        log("warn", "The socket was removed; listening again.");
        await claim
          .restore()
          .catch((error: unknown) => log("error", `That failed: ${describeBug(error)}`));
    }
  }
}

function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

import type { Clock } from "../platform/clock.ts";
import type { Host } from "../platform/paths.ts";

/** A daemon that runs inside this process. */
export interface EmbeddedDaemon {
  /** Resolves when it is over: it was stopped, or another one took its socket. */
  readonly done: Promise<unknown>;
}

/** Starts a daemon inside this process; resolves when its feeds have looked around once. */
export type StartDaemon = (options: {
  socketPath: string;
  isDefault: boolean;
  /** Stops it. */
  signal: AbortSignal;
  /** Gets what is written to the log, too. */
  echo?: (line: string) => void;
}) => Promise<EmbeddedDaemon>;

/** All that a command may touch. */
export interface World {
  readonly host: Host;
  readonly clock: Clock;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream & { fd: number };
  readonly stderr: NodeJS.WriteStream;
  /** The file that starts this program. */
  readonly entry: string;
  readonly startDaemon: StartDaemon;
}

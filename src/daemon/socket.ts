import fs from "node:fs";
import type { Socket } from "node:net";
import path from "node:path";
import { ToolError } from "../core/protocol/errors.ts";
import { systemClock, wait } from "../platform/clock.ts";
import { logPath, shimPath, socketPathProblem } from "../platform/paths.ts";
import { type DirectoryOptions, prepareDirectory } from "./directory.ts";
import { Listener } from "./listener.ts";
import { whoHolds } from "./probe.ts";

/** A holder that has not answered after this long will not. */
const PATIENCE_MS = 2000;

/**
 * Between looking at the path and renaming onto it lie two system calls of another start; after
 * this long it has made both.
 */
const SETTLE_MS = 50;

/** Each try is lost only to another start that got further, so a few are enough for all to end. */
const MAX_TRIES = 10;

export type ClaimOptions = {
  socketPath: string;
  isDefault: boolean;
  uid: number;
  platform: NodeJS.Platform;
  /** Real milliseconds that another holder is given to answer. */
  patienceMs?: number;
};

/** What the path leads to, seen from the daemon that claimed it. */
export type Ownership = "ours" | "missing" | "displaced";

/** The daemon's place in the file system, held by at most one daemon at a time. */
export interface Claim {
  /** Serves the connections that came and will come. */
  serve(onConnection: (socket: Socket) => void): void;
  /** Tells whether clients still reach this daemon; to be asked now and then. */
  check(): Ownership;
  /** Listens again at a path that is missing; an error says why that failed this time. */
  restore(): Promise<void>;
  /** Stops listening, and removes the path if it is still ours. */
  release(): void;
}

/**
 * Makes this process the one daemon behind `socketPath`.
 *
 * It listens under a temporary name and renames that onto the path. Node removes the name that a
 * socket was bound under when the socket closes: as that is the temporary one, a daemon that was
 * displaced can never remove its successor's socket.
 *
 * Two starts at the same instant end with one daemon: each looks at the path right before its
 * rename and starts over if it changed, and the later rename wins over an earlier one, whose
 * daemon sees it after settling or, at the latest, at its next `check`.
 *
 * @throws ToolError `daemonRunning`, `socketPathTooLong`, `socketPathUnsafe`, `daemonStartFailed`.
 */
export async function claimSocket(options: ClaimOptions): Promise<Claim> {
  const { socketPath, platform } = options;
  const problem = socketPathProblem(socketPath, platform);
  if (problem) throw new ToolError("socketPathTooLong", problem);
  const directory = directoryOptions(options);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    prepareDirectory(path.dirname(socketPath), directory);
    const stale = await leftoverAt(socketPath, options.patienceMs ?? PATIENCE_MS);
    if (stale === "changing") continue;
    const listener = await Listener.beside(socketPath, platform);
    if (!moveInto(socketPath, listener, stale)) {
      listener.close();
      continue;
    }
    await wait(systemClock, SETTLE_MS);
    if (ownership(socketPath, listener) === "ours") return new Held(options, directory, listener);
    listener.close();
    throw running(socketPath, "another one started at the same time");
  }
  throw running(socketPath, "others keep taking it");
}

class Held implements Claim {
  readonly #options: ClaimOptions;
  readonly #directory: DirectoryOptions;
  #listener: Listener;
  #onConnection: ((socket: Socket) => void) | undefined;
  #released = false;

  constructor(options: ClaimOptions, directory: DirectoryOptions, listener: Listener) {
    this.#options = options;
    this.#directory = directory;
    this.#listener = listener;
  }

  serve(onConnection: (socket: Socket) => void): void {
    this.#onConnection = onConnection;
    this.#listener.serve(onConnection);
  }

  check(): Ownership {
    return ownership(this.#options.socketPath, this.#listener);
  }

  async restore(): Promise<void> {
    const { socketPath, platform } = this.#options;
    prepareDirectory(path.dirname(socketPath), this.#directory);
    const listener = await Listener.beside(socketPath, platform);
    if (this.#released || !moveInto(socketPath, listener, undefined)) {
      listener.close(); // the next check tells who was faster
      return;
    }
    if (this.#onConnection) listener.serve(this.#onConnection);
    this.#listener.close();
    this.#listener = listener;
  }

  release(): void {
    this.#released = true;
    // Before closing: while the socket is open, its inode number cannot be given to another file.
    if (this.check() === "ours") removeQuietly(this.#options.socketPath);
    this.#listener.close();
  }
}

/**
 * Looks who has the path: `undefined` when it is free, the file's mark when nobody is behind it.
 *
 * @throws ToolError `daemonRunning` when somebody is, `socketPathUnsafe` when it is no socket.
 */
async function leftoverAt(
  socketPath: string,
  patienceMs: number,
): Promise<string | undefined | "changing"> {
  const found = fs.lstatSync(socketPath, { bigint: true, throwIfNoEntry: false });
  if (!found) return undefined;
  if (!found.isSocket())
    throw new ToolError(
      "socketPathUnsafe",
      `Cannot listen at ${socketPath}: something is there that is not a socket. Move it away, or choose another path with --socket.`,
    );
  switch (await whoHolds(socketPath, patienceMs)) {
    case "nobody":
      return markOf(found);
    case "gone":
      return "changing";
    case "daemon":
      throw running(socketPath);
    case "silent":
      throw running(socketPath, "it does not answer; stop that process, or use another socket");
    case "stranger":
      throw running(socketPath, "it is another program's; use another socket");
  }
}

/** Renames the listener onto the path if that is still as it was found; no await in between. */
function moveInto(socketPath: string, listener: Listener, expected: string | undefined): boolean {
  const found = fs.lstatSync(socketPath, { bigint: true, throwIfNoEntry: false });
  if ((found && markOf(found)) !== expected) return false;
  try {
    fs.renameSync(listener.boundPath, socketPath);
  } catch (cause) {
    listener.close();
    throw new ToolError("daemonStartFailed", `Cannot listen at ${socketPath}`, { cause });
  }
  return true;
}

function ownership(socketPath: string, listener: Listener): Ownership {
  try {
    const found = fs.lstatSync(socketPath, { bigint: true, throwIfNoEntry: false });
    if (!found) return "missing";
    return listener.isAt(found) ? "ours" : "displaced";
  } catch {
    return "ours"; // a check that could not be made is not a "no"
  }
}

function removeQuietly(socketPath: string): void {
  try {
    fs.unlinkSync(socketPath);
  } catch {
    // It is left over, and the next start sees that nobody is behind it.
  }
}

/** Tells one file from another even when its inode number was used again. */
const markOf = ({ dev, ino, ctimeNs }: fs.BigIntStats) => `${dev}:${ino}:${ctimeNs}`;

function directoryOptions({ socketPath, uid, isDefault }: ClaimOptions): DirectoryOptions {
  const log = logPath(socketPath);
  const files = [socketPath, log, `${log}.1`, shimPath(socketPath)].map((file) =>
    path.basename(file),
  );
  const ours = [...files, "hook", "hook.cjs"];
  return { uid, isDefault, isOurs: (name) => ours.includes(name) };
}

const running = (socketPath: string, detail?: string) =>
  new ToolError(
    "daemonRunning",
    `A process already listens at ${socketPath}${detail ? `: ${detail}` : ""}.`,
  );

import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { request } from "../client/request.ts";
import { visible } from "../core/present/visible.ts";
import { ToolError } from "../core/protocol/errors.ts";
import { wait } from "../platform/clock.ts";
import { logPath } from "../platform/paths.ts";
import type { World } from "./world.ts";

/** A daemon lets replies in flight finish for 5 s; then it is over, one way or the other. */
const STOP_PATIENCE_MS = 6000;

/** Far longer than a daemon needs on a busy machine; its first answer does not wait for the feeds. */
const START_PATIENCE_MS = 10_000;

const LOOK_MS = 50;
const TAIL_LINES = 20;

/** Who is behind a socket; `silent` is somebody who does not answer as a daemon does. */
export type Presence = "answers" | "silent" | "nobody";

/** Looks who is behind a socket. */
export async function presenceAt(socketPath: string): Promise<Presence> {
  try {
    await request(socketPath, "daemon", "ping", null, { timeoutMs: 1000 });
    return "answers";
  } catch (error) {
    if (error instanceof ToolError) return isNobody(error) ? "nobody" : "silent";
    throw error;
  }
}

/**
 * Stops the daemon behind a socket and waits until that is free; false when there is none.
 *
 * @throws ToolError `daemonStays` when it does.
 */
export async function stopDaemon(
  socketPath: string,
  { clock }: Pick<World, "clock">,
): Promise<boolean> {
  try {
    await request(socketPath, "daemon", "shutdown", null);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    if (isNobody(error)) return false;
    // One that is slow has been asked all the same, and stops when it comes to it.
  }
  const deadline = clock.now() + STOP_PATIENCE_MS;
  while ((await presenceAt(socketPath)) !== "nobody") {
    if (clock.now() >= deadline)
      throw new ToolError(
        "daemonStays",
        `Cannot stop the daemon at ${socketPath}: it was asked to, and is still there after ${STOP_PATIENCE_MS / 1000} s. It stops when it comes to it; if it hangs, end its process.`,
      );
    await wait(clock, LOOK_MS, new AbortController().signal);
  }
  return true;
}

/**
 * Starts a daemon in a session of its own and waits until it answers.
 *
 * @throws ToolError `daemonStartFailed` after telling the end of its log.
 */
export async function spawnDaemon(
  socketPath: string,
  { clock, entry, host, stderr }: Pick<World, "clock" | "entry" | "host" | "stderr">,
): Promise<void> {
  const log = openLog(logPath(socketPath));
  // More certificates are of no use to it and triple Node 20's start.
  const { NODE_EXTRA_CA_CERTS: _, ...env } = host.env;
  const child = spawn(
    process.execPath,
    // The young generation is kept small: the daemon's memory is in what it holds, not in garbage.
    ["--max-semi-space-size=1", entry, "daemon", "run", "--socket", socketPath, "--quiet"],
    { cwd: "/", env, detached: true, stdio: ["ignore", log.fd, log.fd] },
  );
  const dead = new AbortController();
  child.once("error", () => dead.abort()).once("exit", () => dead.abort());
  const deadline = clock.now() + START_PATIENCE_MS;
  while ((await presenceAt(socketPath)) !== "answers") {
    if (dead.signal.aborted || clock.now() >= deadline) {
      child.kill();
      for (const line of log.tail()) stderr.write(`${visible(line)}\n`);
      log.discard();
      const how = dead.signal.aborted ? "it ended" : `no answer for ${START_PATIENCE_MS / 1000} s`;
      throw new ToolError("daemonStartFailed", `Cannot start the daemon: ${how}.`);
    }
    await wait(clock, LOOK_MS, dead.signal);
  }
  child.unref();
  fs.closeSync(log.fd);
}

/**
 * Opens the log for what the daemon writes past its own; `tail` reads what came since. `discard`
 * takes a log away again that was not there before: where no daemon can be, none is looked for.
 */
function openLog(file: string): { fd: number; tail: () => string[]; discard: () => void } {
  const { O_APPEND, O_CREAT, O_RDWR, O_NOFOLLOW } = fs.constants;
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    const wasThere = fs.existsSync(file);
    const fd = fs.openSync(file, O_APPEND | O_CREAT | O_RDWR | O_NOFOLLOW, 0o600);
    const { size } = fs.fstatSync(fd);
    const tail = () => {
      const text = Buffer.alloc(fs.fstatSync(fd).size - size);
      fs.readSync(fd, text, 0, text.length, size);
      return text.toString("utf8").trimEnd().split("\n").slice(-TAIL_LINES);
    };
    const discard = () => {
      if (!wasThere) fs.rmSync(file, { force: true });
    };
    return { fd, tail, discard };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ToolError("daemonStartFailed", `Cannot write the daemon's log: ${reason}`, { cause });
  }
}

/** A connection that the system refused, in contrast to one that was taken and not answered. */
function isNobody({ code, cause }: ToolError): boolean {
  const reason = cause instanceof Error && "code" in cause ? cause.code : undefined;
  return code === "daemonUnreachable" && (reason === "ENOENT" || reason === "ECONNREFUSED");
}

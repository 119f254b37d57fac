import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import { filesNamedIn, type WrapArguments } from "./arguments.ts";
import { forward, isOpen, openInput, openOutput, planFor } from "./forward.ts";
import { keepHeapSmall } from "./memory.ts";
import { type Observer, observeClaude } from "./observer.ts";

/** Signals that are meant for Claude, wherever they arrive. */
const signals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;

/**
 * How long the output of a child that is gone may be silent without being at its end: a program that
 * it has left behind holds it open.
 */
const QUIET_MS = 200;

/** How long the last reports may take to leave. */
const FLUSH_MS = 500;

/** The highest number of an open file that is handed on; shells know no more than one digit. */
const MAX_FILE = 255;

/** What a shell exits with when there is no such program; no shell was there to say so. */
const NOT_FOUND_EXIT = 127;

/**
 * Runs Claude Code in this process' place: passes on what it reads and writes, and tells the daemon
 * what can be seen of its state in between. Claude comes first: whatever goes wrong here, it runs on.
 *
 * @param socketFor  Chooses the socket, given the flag's value; undefined when it cannot be used.
 */
export function runClaude(
  { command, args, socket, env, files }: WrapArguments,
  socketFor: (flag: string | undefined) => string | undefined,
): void {
  const childEnv = { ...process.env, ...env };
  const stdio = stdioFor([...files, ...filesNamedIn(childEnv)]);
  const child = start(command, args, { env: childEnv, stdio });
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  process.on("uncaughtException", () => {}); // a bug of ours is no reason for Claude to end

  const socketPath = child.stdout ? socketFor(socket) : undefined;
  const observer =
    child.pid !== undefined && socketPath !== undefined
      ? observeClaude({
          pid: child.pid,
          args,
          cwd: workingDirectory(),
          entrypoint: childEnv.CLAUDE_CODE_ENTRYPOINT,
          socketPath,
        })
      : undefined;
  if (child.stdin) forward(openInput(0), child.stdin, (chunk) => observer?.sawInput(chunk));
  const output = child.stdout ? openOutput(1) : undefined;
  if (child.stdout && output) forward(child.stdout, output, (chunk) => observer?.sawOutput(chunk));

  setImmediate(keepHeapSmall); // by then the child is on its way
  child.on("exit", (code, signal) => {
    for (const name of signals) process.removeAllListeners(name); // from now on they are ours
    const status = code ?? 128 + (signal ? constants.signals[signal] : 0);
    observer?.finish();
    drained(child.stdout, output, () => leave(status, observer));
  });
}

/**
 * Starts the child. What the system does not start a shell gets, for its words and its status are
 * those that everybody knows; it also starts scripts that name no interpreter.
 */
function start(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const direct = attempt(command, args, options);
  if (direct?.pid !== undefined) return direct;
  const byShell = attempt("/bin/sh", ["-c", 'exec "$@"', "sh", command, ...args], options);
  return byShell?.pid === undefined ? process.exit(NOT_FOUND_EXIT) : byShell;
}

function attempt(
  command: string,
  args: readonly string[],
  options: SpawnOptions,
): ChildProcess | undefined {
  try {
    return spawn(command, args, options).on("error", () => {}); // told by the missing pid
  } catch {
    return undefined; // some refusals of the system are thrown
  }
}

/** What is passed on by us gets a pipe; all else goes to the child as it is, stderr always. */
function stdioFor(files: readonly number[]): SpawnOptions["stdio"] {
  const own = [0, 1].map((fd) => (planFor(fd) === "forward" ? "pipe" : "inherit"));
  const open = files.filter((fd) => fd <= MAX_FILE && isOpen(fd));
  const last = Math.max(2, ...open);
  const more = Array.from({ length: last - 2 }, (_, i) =>
    open.includes(i + 3) ? i + 3 : "ignore",
  );
  return [...own, "inherit", ...more] as SpawnOptions["stdio"];
}

/** Calls back when all that the child has written is passed on, or its reader is gone. */
function drained(from: Readable | null, to: Writable | undefined, done: () => void): void {
  if (!from || !to || to.closed) {
    done();
    return;
  }
  let isQuiet = true;
  from.on("data", () => {
    isQuiet = false;
  });
  const timer = setInterval(() => {
    if (isQuiet && to.writableLength === 0) finish();
    isQuiet = true;
  }, QUIET_MS);
  const finish = () => {
    clearInterval(timer);
    to.off("close", finish);
    done();
  };
  to.on("close", finish);
}

function leave(status: number, observer: Observer | undefined): void {
  if (observer) observer.flush(FLUSH_MS, () => process.exit(status));
  else process.exit(status);
}

/** Where Claude runs, too; undefined in a directory that is gone. */
function workingDirectory(): string | undefined {
  try {
    return process.cwd();
  } catch {
    return undefined; // Claude will have its own words for it
  }
}

import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";

export const root = new URL("../..", import.meta.url).pathname;
export const entry = path.join(root, "dist", "omni-dev.js");

/** Longer than anything here takes on a busy machine. */
const PATIENCE_MS = 20_000;

export type Ran = { code: number | null; stdout: string; stderr: string };

/** A user of the built program, with a home of their own. Nothing of the real one is reached. */
export class Program {
  readonly home = mkdtempSync(path.join(os.tmpdir(), "omni-dev-test-"));
  readonly socket = path.join(this.home, "data", "omni-dev", "daemon.sock");
  readonly env: Record<string, string>;
  readonly #children = new Set<ChildProcess>();

  constructor(env: Record<string, string> = {}) {
    this.env = {
      PATH: process.env.PATH ?? "",
      HOME: this.home,
      XDG_DATA_HOME: path.join(this.home, "data"),
      TMPDIR: os.tmpdir(),
      ...env,
    };
  }

  /** Starts the program; `dispose` ends it if it still runs. */
  spawn(args: string[], options: SpawnOptions = {}): ChildProcess {
    const child = spawn(process.execPath, [entry, ...args], {
      env: this.env,
      cwd: this.home,
      ...options,
    });
    this.#children.add(child);
    child.once("exit", () => this.#children.delete(child));
    return child;
  }

  /** Runs the program to its end. */
  run(...args: string[]): Promise<Ran> {
    const child = this.spawn(args);
    const ran: Ran = { code: null, stdout: "", stderr: "" };
    child.stdout?.on("data", (chunk) => {
      ran.stdout += chunk;
    });
    child.stderr?.on("data", (chunk) => {
      ran.stderr += chunk;
    });
    return new Promise((resolve) => child.once("close", (code) => resolve({ ...ran, code })));
  }

  /** Sends one request on a connection of its own. */
  async request(
    service: string,
    op: string,
    payload?: unknown,
  ): Promise<{ ok: boolean; payload?: unknown; error?: string }> {
    const [line] = await this.lines(`${JSON.stringify({ service, op, payload })}\n`, 1);
    return JSON.parse(line ?? "");
  }

  /** Sends text and resolves with the first `count` lines that come back. */
  lines(text: string, count: number): Promise<string[]> {
    return new Promise((resolve, reject) => {
      let got = "";
      const socket = net.connect(this.socket, () => socket.write(text));
      const timer = setTimeout(() => socket.destroy(new Error(`Only got: ${got}`)), PATIENCE_MS);
      socket.on("data", (chunk) => {
        got += chunk;
        const lines = got.split("\n");
        if (lines.length <= count) return;
        resolve(lines.slice(0, count));
        socket.destroy();
      });
      socket.on("error", reject);
      socket.on("close", () => {
        clearTimeout(timer);
        reject(new Error(`Closed after: ${got}`));
      });
    });
  }

  async list(): Promise<Record<string, unknown>[]> {
    const { payload } = await this.request("sessions", "list");
    return (payload as { sessions: Record<string, unknown>[] }).sessions;
  }

  /** The pid of the daemon, as the process that holds its log's socket says. */
  async daemonPid(): Promise<number | undefined> {
    const found = await pidsWith(`${entry} daemon run --socket ${this.socket}`);
    return found[0];
  }

  async dispose(): Promise<void> {
    await this.run("daemon", "stop");
    for (const child of this.#children) child.kill("SIGKILL");
    rmSync(this.home, { recursive: true, force: true });
  }
}

/** The pids of processes whose command line has `text` in it. */
export async function pidsWith(text: string): Promise<number[]> {
  const ps = spawn("ps", ["-ww", "-eo", "pid=,args="]);
  let out = "";
  ps.stdout.on("data", (chunk) => {
    out += chunk;
  });
  await new Promise((resolve) => ps.once("close", resolve));
  return out
    .split("\n")
    .filter((line) => line.includes(text))
    .map((line) => Number.parseInt(line.trim(), 10));
}

/** Asks again until `check` finds something, at the latest after a generous time. */
export async function until<T>(
  what: string,
  check: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; ) {
    const found = await check();
    if (found !== undefined && found !== false) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`Waited in vain: ${what}`);
}

/** Starts a process that looks like an agent's and writes Claude's record for it. */
export function readStartToken(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, vi } from "vitest";

export const root = path.resolve(import.meta.dirname, "../..");
export const entry = path.join(root, "dist", "omni-dev.js");

/** Longer than anything here takes on a busy machine. */
export const PATIENCE_MS = 20_000;

/** A user of the built program in a home of their own, which goes when the test ends. */
export class Program {
  readonly home = fs.mkdtempSync(path.join(os.tmpdir(), "omni-dev-home-"));
  readonly socket: string;
  /** Nothing of the real user's: what is started here neither sees nor touches it. */
  readonly env: Record<string, string>;
  readonly #started: Running[] = [];

  constructor() {
    const data = process.platform === "darwin" ? "Library/Application Support" : "data";
    this.socket = path.join(this.home, data, "omni-dev", "daemon.sock");
    this.env = {
      PATH: [path.dirname(process.execPath), process.env.PATH].join(path.delimiter),
      HOME: this.home,
      TMPDIR: this.home,
      TERM: "xterm-256color",
      XDG_DATA_HOME: path.join(this.home, "data"),
      XDG_CONFIG_HOME: path.join(this.home, "config"),
      XDG_RUNTIME_DIR: path.join(this.home, "run"),
      OMNI_DEV_DAEMON_STREAM_TICK: "0.1",
    };
    onTestFinished(() => this.#dispose());
  }

  /** Runs the program to its end. */
  run(...args: string[]) {
    return this.start(...args).ended();
  }

  /** Starts the program; it is killed when the test ends. */
  start(...args: string[]): Running {
    return this.spawn([process.execPath, entry, ...args]);
  }

  /** Starts any program as this user. */
  spawn([file = "", ...args]: string[], cwd = this.home): Running {
    const running = new Running(spawn(file, args, { env: this.env, cwd }));
    this.#started.push(running);
    return running;
  }

  /** Asks the daemon as any other program would, and returns its line. */
  async ask(service: string, op: string, payload: unknown = null): Promise<string> {
    const [line = ""] = await this.lines(`${JSON.stringify({ service, op, payload })}\n`, 1);
    return line;
  }

  /** Reports a session to the daemon. */
  observe(session_id: string, event: string | object, more: object = {}): Promise<string> {
    return this.ask("sessions", "observe", { session_id, event, ...more });
  }

  /** The sessions that the daemon lists. */
  async list(): Promise<Record<string, unknown>[]> {
    return JSON.parse(await this.ask("sessions", "list")).payload.sessions;
  }

  /** Follows the sessions until the daemon sends some that fit. */
  async sees(fits: (sessions: Record<string, unknown>[]) => boolean): Promise<void> {
    await this.#talk('{"service":"sessions","op":"subscribe"}\n', (lines) => {
      const { sessions } = JSON.parse(lines.at(-1) ?? "{}").payload ?? {};
      return sessions && fits(sessions) ? true : undefined;
    });
  }

  /** Sends text and resolves with the first `count` lines that come back. */
  lines(text: string, count: number): Promise<string[]> {
    return this.#talk(text, (lines) => (lines.length < count ? undefined : lines.slice(0, count)));
  }

  /** Sends text on a connection of its own until `find` finds something in what comes back. */
  async #talk<T>(text: string, find: (lines: string[]) => T | undefined): Promise<T> {
    const lines: string[] = [];
    const news = new News();
    let end: Error | undefined;
    const over = (why: Error) => {
      end ??= why;
      news.tell();
    };
    const socket = net.connect(this.socket);
    socket.on("error", over).on("close", () => over(new Error(`Closed after: ${lines}`)));
    const reader = createInterface({ input: socket });
    reader.on("error", over).on("line", (line) => {
      lines.push(line);
      news.tell();
    });
    socket.write(text);
    const look = () => {
      const found = find(lines);
      if (found === undefined && end) throw end;
      return found;
    };
    return news.until(look, () => lines.join("\n")).finally(() => socket.destroy());
  }

  async #dispose(): Promise<void> {
    for (const running of this.#started) {
      running.child.kill("SIGKILL");
      await running.ended();
    }
    const isEmpty = async () => expect(await pidsWith(this.home)).toEqual([]);
    try {
      if ((await pidsWith(this.home)).length > 0) await this.run("daemon", "stop");
      await vi.waitFor(isEmpty, { timeout: PATIENCE_MS });
    } finally {
      fs.rmSync(this.home, { recursive: true });
    }
  }
}

/** A program that runs, and what it has written so far. */
export class Running {
  readonly child: ChildProcessWithoutNullStreams;
  stdout = "";
  stderr = "";
  #taken = 0;
  readonly #news = new News();
  readonly #closed: Promise<unknown>;

  constructor(child: ChildProcessWithoutNullStreams) {
    this.child = child;
    this.#closed = once(child, "close");
    for (const name of ["stdout", "stderr"] as const)
      child[name].setEncoding("utf8").on("data", (text) => {
        this[name] += text;
        this.#news.tell();
      });
  }

  /** The next line of its output. */
  async line(): Promise<string> {
    const next = () => /^(.*)\n/.exec(this.stdout.slice(this.#taken))?.[1];
    const line = await this.#news.until(next, () => this.stdout + this.stderr);
    this.#taken += line.length + 1;
    return line;
  }

  /** Resolves when it has said this on stderr. */
  async complains(text: string): Promise<void> {
    const isSaid = () => this.stderr.includes(text) || undefined;
    await this.#news.until(isSaid, () => this.stderr);
  }

  /** Resolves when it is over. */
  async ended(): Promise<{ exit: number | null; stdout: string; stderr: string }> {
    await this.#closed;
    return { exit: this.child.exitCode, stdout: this.stdout, stderr: this.stderr };
  }
}

/** Wakes those who wait for something when it may have come. */
export class News {
  readonly #emitter = new EventEmitter();

  tell(): void {
    this.#emitter.emit("news");
  }

  /** Resolves with what `find` finds, now or after any news; `seen` tells why it did not. */
  async until<T>(find: () => T | undefined, seen: () => string): Promise<T> {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      await once(this.#emitter, "news", { signal }).catch(() => {
        throw new Error(`Waited in vain, and saw:\n${seen()}`);
      });
    }
  }
}

/** The pids of processes whose command line or environment has `text` in it. */
export async function pidsWith(text: string): Promise<number[]> {
  const wanted = process.platform === "darwin" ? "axEww" : "axeww";
  const ps = spawn("ps", [wanted, "-o", "pid=,args="]);
  let out = "";
  ps.stdout.on("data", (chunk) => {
    out += chunk;
  });
  await once(ps, "close");
  const found = out.split("\n").filter((line) => line.includes(text));
  return found.map((line) => Number.parseInt(line, 10));
}

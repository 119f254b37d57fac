import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { onTestFinished } from "vitest";
import { News, PATIENCE_MS, type Program, root } from "./program.ts";

export const bin = path.join(root, "dist", "bin.cjs");

/** The command that runs another one in the wrapper. */
export const wrapper = [process.execPath, bin, "claude-wrap"];

export type WrappedOptions = {
  /** What starts it: the wrapper, unless a test compares with something else. */
  by?: readonly string[];
  cwd?: string;
};

/** A command in the wrapper, with pipes as an editor has them. It is killed when the test ends. */
export class Wrapped {
  readonly child: ChildProcessWithoutNullStreams;
  readonly #chunks: Buffer[] = [];
  stderr = "";
  readonly #news = new News();
  readonly #closed: Promise<unknown>;

  constructor(user: Program, command: readonly string[], options: WrappedOptions = {}) {
    const { by = wrapper, cwd = user.home } = options;
    const [file = "", ...args] = [...by, ...command];
    this.child = spawn(file, args, { env: user.env, cwd });
    this.#closed = once(this.child, "close");
    this.child.stdin.on("error", () => {}); // seen by what was not read
    this.child.stdout.on("data", (chunk) => {
      this.#chunks.push(chunk);
      this.#news.tell();
    });
    this.child.stderr.setEncoding("utf8").on("data", (text) => {
      this.stderr += text;
      this.#news.tell();
    });
    onTestFinished(async () => {
      this.child.kill("SIGKILL");
      for (const stream of this.child.stdio) stream?.destroy();
      await this.#closed;
    });
  }

  get output(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  /** Resolves when it has written this. */
  async says(text: string, to: "stdout" | "stderr" = "stdout"): Promise<void> {
    const isSaid = () => (to === "stdout" ? this.output : this.stderr).includes(text) || undefined;
    await this.#news.until(isSaid, () => `${this.output}${this.stderr}`.slice(-1000));
  }

  /** Resolves when it is over and all was read. */
  async ended(): Promise<{ exit: number | null; signal: string | null; stderr: string }> {
    const timeout = setTimeout(() => this.child.kill("SIGKILL"), PATIENCE_MS);
    await this.#closed;
    clearTimeout(timeout);
    return { exit: this.child.exitCode, signal: this.child.signalCode, stderr: this.stderr };
  }
}

/** A program in JavaScript, as a command. */
export const script = (text: string, ...args: string[]): string[] => [
  process.execPath,
  "-e",
  text,
  ...args,
];

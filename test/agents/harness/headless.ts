import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import type { Lab } from "./lab.ts";

export interface HeadlessOptions {
  env?: Readonly<Record<string, string>>;
  cwd?: string;
  /** Whether something will be sent to it. Else its input ends at once: some wait for it. */
  takesInput?: boolean;
}

/** A command without a terminal. */
export interface Headless {
  pid: number;
  /** Every line of stdout so far. */
  lines: readonly string[];
  /** Everything written to stderr so far. */
  errors(): string;
  /** Sends one message, as a line of JSON. */
  send(message: unknown): void;
  endInput(): void;
  /** Resolves when the process has ended. */
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

/** Starts a command in the lab without a terminal. */
export async function startCommand(
  lab: Lab,
  argv: readonly string[],
  { env = {}, cwd = lab.cwd, takesInput = false }: HeadlessOptions = {},
): Promise<Headless> {
  const [command, ...rest] = lab.inside(argv);
  const child = spawn(command, rest, {
    cwd,
    env: { ...lab.env, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>(
    (resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => resolve({ code, signal }));
    },
  );
  if (child.pid === undefined) await exited;
  if (!takesInput) child.stdin.end();
  return { pid: child.pid ?? 0, exited, ...dialogue(child) };
}

function dialogue(child: ChildProcessByStdio<Writable, Readable, Readable>) {
  const lines: string[] = [];
  let rest = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  child.stdin.on("error", () => {}); // it has ended: `exited` tells
  return {
    lines,
    errors: () => errors,
    send: (message: unknown) => {
      child.stdin.write(`${JSON.stringify(message)}\n`);
    },
    endInput: () => {
      child.stdin.end();
    },
  };
}

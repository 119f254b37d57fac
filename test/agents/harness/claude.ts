import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { installClaude } from "./install.ts";
import type { Lab } from "./lab.ts";
import { type ClaudeRecord, waitForState } from "./record.ts";
import { openTerminal, type Terminal } from "./terminal.ts";

/** What VS Code's extension and the SDKs pass, so that they can speak over stdio. */
export const STREAM_JSON_ARGS: readonly string[] = [
  ...["--output-format", "stream-json", "--input-format", "stream-json", "--verbose"],
  ...["--permission-prompt-tool", "stdio", "--include-partial-messages"],
];

const DIALOG_MS = 3000;
const DIALOG_TRIES = 5;

export interface ClaudeOptions {
  args?: readonly string[];
  env?: Readonly<Record<string, string>>;
  cwd?: string;
  /** The name of its terminal, once there are two in a lab. */
  name?: string;
}

export interface Claude {
  terminal: Terminal;
  /** Of Claude Code itself, as in the name of its process record. */
  pid: number;
  /** Types a prompt or a slash command and presses Enter. */
  submit(text: string): Promise<void>;
  /**
   * Answers the dialog that shows `text` with these keys, and waits until it is gone. A dialog takes
   * no keys in its first moments, so as not to be answered by mistake: they are pressed again then.
   */
  answer(text: string, ...keys: string[]): Promise<void>;
  /** Waits until its record shows a state: `idle`, `busy`, `waiting: permission prompt`. */
  waitForState(state: string, timeoutMs?: number): Promise<ClaudeRecord>;
}

/** Starts Claude Code as people run it, in a terminal, and waits until it takes a prompt. */
export async function startClaude(
  lab: Lab,
  { args = [], env = {}, cwd = lab.cwd, name = "claude" }: ClaudeOptions = {},
): Promise<Claude> {
  const binary = await installClaude();
  const terminal = await openTerminal(lab, name, [binary, ...args], { env, cwd });
  const { pid } = terminal;
  const lastSeen = terminal.screen;
  await waitForState(lab, pid, "idle", { lastSeen });
  return {
    terminal,
    pid,
    async submit(text) {
      // Enter goes alone and only once the text shows: sent together they count as a paste.
      await terminal.type(text);
      await terminal.key("Enter");
    },
    async answer(text, ...keys) {
      await terminal.waitForScreen(text);
      for (let tries = 1; ; tries += 1) {
        for (const key of keys) await terminal.key(key);
        const isGone = (screen: string) => !screen.includes(text);
        try {
          await terminal.waitForScreen(isGone, DIALOG_MS);
          return;
        } catch (error) {
          if (tries === DIALOG_TRIES) throw error;
        }
      }
    },
    waitForState(state, timeoutMs) {
      const limit = timeoutMs !== undefined && { timeoutMs };
      return waitForState(lab, pid, state, { lastSeen, ...limit });
    },
  };
}

export interface Headless {
  pid: number;
  /** Every line of stdout so far. */
  lines: readonly string[];
  /** Everything written to stderr so far. */
  errors(): string;
  /** Sends one message of the stream-json form. */
  send(message: unknown): void;
  /** Sends a prompt in the stream-json form. */
  prompt(text: string): void;
  /** Ends stdin, which ends the stream-json form after its turn. */
  endInput(): void;
  /** Resolves when the process has ended. */
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

/**
 * Starts Claude Code without a terminal: `["-p", "SCENARIO:plain"]`, or `STREAM_JSON_ARGS` with
 * `CLAUDE_CODE_ENTRYPOINT` set to `claude-vscode` or `sdk-ts`.
 */
export async function startHeadless(
  lab: Lab,
  args: readonly string[],
  { env = {}, cwd = lab.cwd }: Pick<ClaudeOptions, "env" | "cwd"> = {},
): Promise<Headless> {
  const [command, ...rest] = lab.inside([await installClaude(), ...args]);
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
  return { pid: child.pid ?? 0, exited, ...dialogue(child, args.includes("--input-format")) };
}

function dialogue(child: ChildProcessByStdio<Writable, Readable, Readable>, takesInput: boolean) {
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
  if (!takesInput) child.stdin.end(); // else `-p` waits for more of the prompt
  const send = (message: unknown) => {
    child.stdin.write(`${JSON.stringify(message)}\n`);
  };
  return {
    lines,
    errors: () => errors,
    send,
    prompt: (content: string) => send({ type: "user", message: { role: "user", content } }),
    endInput: () => {
      child.stdin.end();
    },
  };
}

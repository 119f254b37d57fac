import { answer, submit } from "./conversation.ts";
import { type Headless, startCommand } from "./headless.ts";
import { installClaude } from "./install.ts";
import type { Lab } from "./lab.ts";
import { type ClaudeRecord, waitForState } from "./record.ts";
import { openTerminal, type Terminal } from "./terminal.ts";

/** What VS Code's extension and the SDKs pass, so that they can speak over stdio. */
export const STREAM_JSON_ARGS: readonly string[] = [
  ...["--output-format", "stream-json", "--input-format", "stream-json", "--verbose"],
  ...["--permission-prompt-tool", "stdio", "--include-partial-messages"],
];

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
    submit: (text) => submit(terminal, text),
    answer: (text, ...keys) => answer(terminal, text, keys),
    waitForState(state, timeoutMs) {
      const limit = timeoutMs !== undefined && { timeoutMs };
      return waitForState(lab, pid, state, { lastSeen, ...limit });
    },
  };
}

export interface HeadlessClaude extends Headless {
  /** Sends a prompt in the stream-json form. */
  prompt(text: string): void;
}

/**
 * Starts Claude Code without a terminal: `["-p", "SCENARIO:plain"]`, or `STREAM_JSON_ARGS` with
 * `CLAUDE_CODE_ENTRYPOINT` set to `claude-vscode` or `sdk-ts`. The end of its input ends that form.
 */
export async function startHeadless(
  lab: Lab,
  args: readonly string[],
  options: Pick<ClaudeOptions, "env" | "cwd"> = {},
): Promise<HeadlessClaude> {
  const takesInput = args.includes("--input-format");
  const argv = [await installClaude(), ...args];
  const claude = await startCommand(lab, argv, { ...options, takesInput });
  return {
    ...claude,
    prompt: (content) => claude.send({ type: "user", message: { role: "user", content } }),
  };
}

import { fileURLToPath } from "node:url";
import { answer, submit } from "./conversation.ts";
import { type Headless, startCommand } from "./headless.ts";
import { installPi } from "./install.ts";
import type { Lab } from "./lab.ts";
import { openTerminal, type Terminal } from "./terminal.ts";

/** Below the prompt, once it takes one: the model's name. */
const STATUS_LINE = "fake-1";

/** Asks before each command of the bash tool, and offers `/ask`. pi itself never asks anything. */
export const QUESTIONS = fileURLToPath(new URL("pi-questions.ts", import.meta.url));

export interface PiOptions {
  args?: readonly string[];
  env?: Readonly<Record<string, string>>;
  cwd?: string;
  /** The name of its terminal, once there are two in a lab. */
  name?: string;
  /** Files to load beside what its home has. */
  extensions?: readonly string[];
}

export interface Pi {
  terminal: Terminal;
  pid: number;
  /** Types a prompt or a slash command and presses Enter. */
  submit(text: string): Promise<void>;
  /** Answers the dialog that shows `text` with these keys, and waits until it is gone. */
  answer(text: string, ...keys: string[]): Promise<void>;
  /** Quits it, and waits until it has ended. */
  quit(): Promise<void>;
}

/** Starts pi as people run it, in a terminal, and waits until it takes a prompt. */
export async function startPi(
  lab: Lab,
  { args = [], env = {}, cwd = lab.cwd, name = "pi", extensions = [] }: PiOptions = {},
): Promise<Pi> {
  const argv = await commandLine(args, extensions);
  const terminal = await openTerminal(lab, name, argv, { env, cwd });
  await terminal.waitForScreen(STATUS_LINE);
  return {
    terminal,
    pid: terminal.pid,
    submit: (text) => submit(terminal, text),
    answer: (text, ...keys) => answer(terminal, text, keys),
    async quit() {
      await submit(terminal, "/quit");
      await terminal.ended();
    },
  };
}

/** Starts pi without a terminal: `["-p", "SCENARIO:plain"]`, or `["--mode", "rpc"]`. */
export async function startHeadlessPi(
  lab: Lab,
  args: readonly string[],
  { extensions = [], ...options }: Pick<PiOptions, "env" | "cwd" | "extensions"> = {},
): Promise<Headless> {
  const takesInput = args.includes("--mode");
  return startCommand(lab, await commandLine(args, extensions), { ...options, takesInput });
}

async function commandLine(
  args: readonly string[],
  extensions: readonly string[],
): Promise<string[]> {
  return [...(await installPi()), ...extensions.flatMap((file) => ["--extension", file]), ...args];
}

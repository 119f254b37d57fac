import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { answer, submit } from "./conversation.ts";
import { type Headless, startCommand } from "./headless.ts";
import { installCodex } from "./install.ts";
import type { Lab } from "./lab.ts";
import { openTerminal, type Terminal } from "./terminal.ts";
import { DEADLINE_MS } from "./wait.ts";

/** The line below the prompt, there once the session has begun: before that keys are only queued. */
const STATUS_LINE = "gpt-5.4 default ·";
const HOOKS_DIALOG = "Hooks need review";
const TRUST_ALL = /› \d\. Trust all and continue/;
/** A home's first daemon copies 400 MB into it. */
const START_MS = 2 * DEADLINE_MS;

export interface CodexOptions {
  args?: readonly string[];
  env?: Readonly<Record<string, string>>;
  cwd?: string;
  /** The name of its terminal, once there are two in a lab. */
  name?: string;
  /** Whether the lab's one daemon runs the session, as by default it does. Else all is one process. */
  daemon?: boolean;
}

export interface Codex {
  terminal: Terminal;
  /** Of the terminal's own process. */
  pid: number;
  /** Types a prompt or a slash command and presses Enter. */
  submit(text: string): Promise<void>;
  /** Answers the dialog that shows `text` with these keys, and waits until it is gone. */
  answer(text: string, ...keys: string[]): Promise<void>;
  /** Quits it, and waits until it has ended, for which it takes five seconds without a network. */
  quit(): Promise<void>;
}

/**
 * Starts Codex as people run it, in a terminal, and waits until its session has begun. Hooks that it
 * does not know yet are trusted, which its configuration remembers.
 */
export async function startCodex(
  lab: Lab,
  { args = [], env = {}, cwd = lab.cwd, name = "codex", daemon = true }: CodexOptions = {},
): Promise<Codex> {
  const binary = await installCodex();
  const argv = [binary, ...(daemon ? [] : ["--no-daemon"]), ...args];
  const terminal = await openTerminal(lab, name, argv, { env, cwd });
  await begin(terminal);
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

async function begin(terminal: Terminal): Promise<void> {
  const isReady = (screen: string) => screen.includes(STATUS_LINE);
  const asks = (screen: string) => screen.includes(HOOKS_DIALOG);
  const screen = await terminal.waitForScreen((seen) => isReady(seen) || asks(seen), START_MS);
  if (asks(screen)) {
    while (!TRUST_ALL.test(await terminal.screen())) {
      await terminal.key("Down");
      await terminal.waitForScreen(/› [23]\. /);
    }
    await answer(terminal, HOOKS_DIALOG, ["Enter"]);
    await terminal.waitForScreen(isReady);
  }
}

/** Starts Codex without a terminal: `["exec", "--skip-git-repo-check", "SCENARIO:plain"]`. */
export async function startCodexCommand(
  lab: Lab,
  args: readonly string[],
  options: Pick<CodexOptions, "env" | "cwd"> = {},
): Promise<Headless> {
  return startCommand(lab, [await installCodex(), ...args], options);
}

/** Reads which process is the lab's Codex daemon, once a terminal has started it. */
export async function codexDaemonPid(lab: Lab): Promise<number> {
  const text = await readFile(join(lab.codexHome, "app-server-daemon", "daemon.pid"), "utf8");
  return (JSON.parse(text) as { pid: number }).pid;
}

/** Names the socket of the lab's Codex daemon. It is a link to one outside of the lab. */
export function codexSocket(lab: Lab): string {
  return join(lab.codexHome, "app-server-control", "app-server-control.sock");
}

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Lab } from "./lab.ts";
import { waitFor } from "./wait.ts";

const run = promisify(execFile);
const WIDTH = "160";
const HEIGHT = "50";

/** A command in a terminal of its own, driven as a person would. */
export interface Terminal {
  name: string;
  /** The command itself: nothing stands between it and the terminal. */
  pid: number;
  /** Types text and waits until it shows, without Enter. */
  type(text: string): Promise<void>;
  /** Presses keys by their tmux names: `Enter`, `Escape`, `Up`, `C-c`. */
  key(...names: string[]): Promise<void>;
  /** The visible screen as plain text. It stays after the command has ended. */
  screen(): Promise<string>;
  /** Waits until the screen matches, and returns it. */
  waitForScreen(
    expected: string | RegExp | ((screen: string) => boolean),
    timeoutMs?: number,
  ): Promise<string>;
  /** Waits until the command has ended and no trace of its process is left. */
  ended(timeoutMs?: number): Promise<void>;
  /** Closes the terminal; its command gets SIGHUP. */
  close(): Promise<void>;
}

export interface TerminalOptions {
  env?: Readonly<Record<string, string>>;
  cwd?: string;
}

/**
 * Opens a terminal in the lab and runs a command in it.
 *
 * Each lab has a tmux server of its own, inside its namespace.
 *
 * @param argv  The command and its arguments, found by the lab's PATH.
 */
export async function openTerminal(
  lab: Lab,
  name: string,
  argv: readonly string[],
  { env = {}, cwd = lab.cwd }: TerminalOptions = {},
): Promise<Terminal> {
  const create = ["new-session", "-d", "-s", name, "-c", cwd, "-x", WIDTH, "-y", HEIGHT];
  const variables = Object.entries(env).flatMap(([key, value]) => ["-e", `${key}=${value}`]);
  const started = await tmux(lab, [
    // A dead pane keeps its last screen, so that a failed start can be read.
    ...["start-server", ";", "set-option", "-g", "remain-on-exit", "on", ";"],
    ...[...create, ...variables, "-P", "-F", "#{pane_pid} #{pid}"],
    // tmux hands a single word to a shell; from two on it runs them itself. `env` execs.
    ...["--", "env", ...argv],
  ]);
  const [pid = 0, serverPid = 0] = started.split(" ").map(Number);

  // The trailing colon makes tmux take the name as a session's, never as a window's.
  const target = `=${name}:`;
  const screen = () => tmux(lab, ["capture-pane", "-p", "-t", target]);
  const key = async (...names: string[]) => {
    await tmux(lab, ["send-keys", "-t", target, ...names]);
  };
  return {
    name,
    pid,
    key,
    screen,
    async type(text) {
      const before = occurrences(await screen(), text);
      await tmux(lab, ["send-keys", "-t", target, "-l", "--", text]);
      await waitFor(
        `"${text}" to show in ${name}`,
        async () => (occurrences(await screen(), text) > before ? true : undefined),
        { lastSeen: screen },
      );
    },
    waitForScreen(expected, timeoutMs) {
      return waitFor(
        `${expected} on the screen of ${name}`,
        async () => {
          const seen = await screen();
          return matches(seen, expected) ? seen : undefined;
        },
        { lastSeen: screen, ...(timeoutMs !== undefined && { timeoutMs }) },
      );
    },
    async ended(timeoutMs) {
      await waitFor(
        `the end of ${name}`,
        () => {
          if (!isProcess(pid)) return true;
          // Debian's tmux can miss the end of its child and leave a zombie: libutempter resets
          // the SIGCHLD handler for a moment just then. One more signal makes tmux look again.
          if (isProcess(serverPid)) process.kill(serverPid, "SIGCHLD");
          return undefined;
        },
        { lastSeen: screen, ...(timeoutMs !== undefined && { timeoutMs }) },
      );
    },
    async close() {
      await tmux(lab, ["kill-session", "-t", `=${name}`]);
    },
  };
}

async function tmux(lab: Lab, args: readonly string[]): Promise<string> {
  const socket = join(lab.dir, "tmux.sock");
  const [command, ...rest] = lab.inside(["tmux", "-u", "-S", socket, "-f", "/dev/null", ...args]);
  const { stdout } = await run(command, rest, { env: lab.env, cwd: lab.cwd });
  return stdout;
}

/** Tells whether a process exists, be it a zombie. */
function isProcess(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function matches(screen: string, expected: string | RegExp | ((screen: string) => boolean)) {
  if (typeof expected === "string") return screen.includes(expected);
  if (expected instanceof RegExp) return expected.test(screen);
  return expected(screen);
}

/** Counts without regard to white space: a long text is wrapped by the input box. */
function occurrences(screen: string, text: string): number {
  return squeeze(screen).split(squeeze(text)).length - 1;
}

function squeeze(text: string): string {
  return text.replaceAll(/\s/g, "");
}

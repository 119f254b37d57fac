import path from "node:path";
import { shellQuote } from "../hook/launcher.ts";
import { wordsOf } from "./command-words.ts";

/**
 * Returns the command of a hook entry: the shell that the agent starts for it reads the launcher
 * and becomes the sender, so that a hook is one process. To start the launcher instead costs a
 * second shell, a quarter of the whole. Without a launcher the command does nothing and exits 0.
 *
 * The test is for reading: a shell that may not read what it is told to exits with 2, and with that
 * status a hook forbids the tool call it is about.
 */
export const hookCommand = (launcher: string): string => {
  const quoted = shellQuote(launcher);
  return `[ -r ${quoted} ] && . ${quoted} 2>/dev/null || :`;
};

/**
 * Returns the same for an agent that runs hooks in the user's own shell, and shows a hook that fails:
 * it means the same to sh, bash, zsh and fish. None but sh is asked to read the launcher, so the
 * shell becomes one. Without a launcher what nobody wants is read all the same: an agent whose hook
 * ends before all is written calls that a failure, too.
 */
export const agentHookCommand = (launcher: string, agent: string): string => {
  const quoted = quoteForAnyShell(launcher);
  return `test -r ${quoted} && exec /bin/sh ${quoted} --agent ${agent} 2>/dev/null; cat >/dev/null`;
};

/** To fish, a backslash between single quotes is none where a backslash or a quote follows it. */
const quoteForAnyShell = (value: string) => `'${value.replace(/['\\]/g, "'\\$&'")}'`;

const INSTALLED = [
  /^\[ -r (.+) \] && \. \1 2>\/dev\/null \|\| :$/s,
  /^test -r (.+) && exec \/bin\/sh \1 --agent [a-z0-9-]+ 2>\/dev\/null; cat >\/dev\/null$/s,
];

/** What a hook entry's command runs, if that is omni-dev. */
export type OwnCommand = {
  /** `launcher`: the file in a data directory; `direct`: the program itself. */
  kind: "launcher" | "direct";
  /** The path or name it is run by. */
  program: string;
};

/** What may stand before the program's own name and run it all the same. */
const RUNNERS = /^(?:env|exec|command|nohup|node|nodejs|bun|npx)$/;
const ASSIGNMENT = /^[A-Za-z_]\w*=/;
const PROGRAM = /^omni-dev(?:\.(?:js|cjs|mjs|exe|cmd))?$/;

/**
 * Tells whether a hook entry's command is ours: the launcher of any data directory, or
 * `omni-dev … sessions hook`, by any path and with any arguments. A larger command in which omni-dev
 * is only a part is its author's.
 */
export function ownCommand(command: string): OwnCommand | undefined {
  const installed = INSTALLED.flatMap((pattern) => pattern.exec(command)?.[1] ?? []);
  const words = wordsOf(installed[0] ?? command) ?? [];
  const at = words.findIndex(
    (word) => !ASSIGNMENT.test(word) && !RUNNERS.test(path.posix.basename(word)),
  );
  const program = words[at];
  if (program === undefined) return undefined;
  if (/(?:^|\/)omni-dev\/hook$/.test(program)) return { kind: "launcher", program };
  const isDirect =
    PROGRAM.test(path.posix.basename(program)) &&
    words.slice(at + 1).some((word, i, rest) => word === "sessions" && rest[i + 1] === "hook");
  return isDirect ? { kind: "direct", program } : undefined;
}

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

const INSTALLED = /^\[ -r (.+) \] && \. \1 2>\/dev\/null \|\| :$/s;

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
  const words = wordsOf(INSTALLED.exec(command)?.[1] ?? command) ?? [];
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

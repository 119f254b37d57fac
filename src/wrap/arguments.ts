/** What the wrapper is to run, and what it was told for itself. */
export type WrapArguments = {
  command: string;
  args: readonly string[];
  socket: string | undefined;
  /** Variables that were hidden from Node, to be given back to the child. */
  env: Readonly<Record<string, string>>;
  /** Open files, beside the usual three, that the child is to have. */
  files: readonly number[];
};

/**
 * Splits the wrapper's own arguments from the command it is to run. Its own come first, each with a
 * value, and end with the first that is none of them, or with `--`:
 *
 * - `--socket PATH`: the daemon's socket.
 * - `--env NAME=VALUE`: a variable for the child; may be repeated.
 * - `--fd N`: an open file to hand on; may be repeated.
 *
 * @returns `undefined` when there is no command.
 */
export function parseArguments(argv: readonly string[]): WrapArguments | undefined {
  let socket: string | undefined;
  const env: Record<string, string> = {};
  const files: number[] = [];
  let at = 0;
  for (; at + 1 < argv.length; at += 2) {
    const value = argv[at + 1] ?? "";
    if (argv[at] === "--socket") socket = value;
    else if (argv[at] === "--env") {
      const [name = "", ...rest] = value.split("=");
      env[name] = rest.join("=");
    } else if (argv[at] === "--fd") files.push(Number(value));
    else break;
  }
  if (argv[at] === "--") at += 1;
  const [command, ...args] = argv.slice(at);
  return command === undefined ? undefined : { command, args, socket, env, files };
}

/** Claude names files that it is to read secrets from by their numbers, in variables such as these. */
const FILE_VARIABLE = /^CLAUDE_CODE_[A-Z_]+_FILE_DESCRIPTOR$/;

/** The open files that Claude's variables name. */
export function filesNamedIn(env: Readonly<Record<string, string | undefined>>): number[] {
  return Object.entries(env).flatMap(([name, value]) =>
    FILE_VARIABLE.test(name) && /^\d{1,3}$/.test(value ?? "") ? [Number(value)] : [],
  );
}

const SESSION_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** What Claude's arguments tell of its session; `isResumed`: it was spoken to before. */
export function sessionIn(args: readonly string[]): {
  id: string | undefined;
  isResumed: boolean;
} {
  const idAfter = (...flags: string[]) => {
    const at = args.findIndex((arg) => flags.includes(arg.split("=")[0] ?? ""));
    const joined = args[at]?.split("=").slice(1).join("=");
    const value = at < 0 ? undefined : joined || args[at + 1];
    return value !== undefined && SESSION_ID.test(value) ? value : undefined;
  };
  const named = idAfter("--session-id");
  const resumed = idAfter("--resume", "-r");
  // A fork gets an id of its own, unless it was given one.
  if (args.includes("--fork-session")) return { id: named, isResumed: false };
  return { id: resumed ?? named, isResumed: resumed !== undefined };
}

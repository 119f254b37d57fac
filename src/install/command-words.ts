/**
 * Splits a command line that is one plain command into its words, as a POSIX shell would; what the
 * shell would expand in them stays as written. Redirections are left out, and so is an ending that
 * only hides the status, like `|| true`. Anything more gives undefined.
 */
export function wordsOf(command: string): string[] | undefined {
  const parts = split(command);
  const at = parts?.indexOf(END) ?? -1;
  if (at < 0) return parts;
  const ending = parts?.slice(at + 1).join(" ") ?? "";
  return ["", "true", ":", "exit 0"].includes(ending) ? parts?.slice(0, at) : undefined;
}

/** Stands for `||` and `;`: no word can be it. */
const END = "\0";

const patterns = {
  space: /^[ \t]+/,
  redirection:
    /^(?:\d*(?:>>|>\||>&|<&|>|<)|&>>?)[ \t]*(?:\d+|-|[^\s|&;<>()'"`$\\]+)(?=[\s|&;<>]|$)/,
  end: /^(?:\|\||;)/,
  word: /^(?:[^\s|&;<>()'"`\\]|\\.|'[^']*'|"(?:[^"\\`]|\\.)*")+/s,
};

function split(command: string): string[] | undefined {
  const parts: string[] = [];
  let rest = command.trim();
  while (rest !== "") {
    const take = (name: keyof typeof patterns) => {
      const found = patterns[name].exec(rest)?.[0];
      if (found !== undefined) rest = rest.slice(found.length);
      return found;
    };
    if (take("space") !== undefined || take("redirection") !== undefined) continue;
    if (take("end") !== undefined) {
      parts.push(END);
      continue;
    }
    const word = take("word");
    if (word === undefined || word.includes("$(")) return undefined;
    parts.push(unquote(word));
  }
  return parts;
}

const unquote = (word: string) =>
  word.replace(
    /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/gs,
    (_, single?: string, double?: string, escaped?: string) =>
      single ?? double?.replace(/\\([$`"\\])/g, "$1") ?? escaped ?? "",
  );

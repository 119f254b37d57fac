/** The styles that are used, as SGR parameters of their own. */
const codes = {
  plain: "",
  bold: "1",
  dim: "2",
  alert: "1;33",
  failure: "31",
  good: "32",
} as const;
export type Style = keyof typeof codes;

/** Puts text into a style, or leaves it as it is where colours are off. */
export type Paint = (style: Style, text: string) => string;

export const unpainted: Paint = (_style, text) => text;
export const painted: Paint = (style, text) =>
  codes[style] && text ? `\x1b[${codes[style]}m${text}\x1b[0m` : text;

/**
 * Chooses whether to colour what goes to a stream.
 *
 * `NO_COLOR` and `TERM=dumb` forbid it; then `FORCE_COLOR` decides (0 and false mean no); else a
 * terminal gets colours and anything else does not.
 */
export function paintFor(
  stream: { isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>>,
): Paint {
  if (env.NO_COLOR || env.TERM === "dumb") return unpainted;
  const forced = env.FORCE_COLOR;
  if (forced === undefined) return stream.isTTY ? painted : unpainted;
  return forced === "0" || forced === "false" ? unpainted : painted;
}

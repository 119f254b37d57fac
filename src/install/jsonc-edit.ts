import type { Node } from "jsonc-parser";
import { type Edit, endOf, type JsoncText, type Token } from "./jsonc-text.ts";

/**
 * Insertions into and removals from JSONC texts that touch no byte of anybody else's, and undo each
 * other: what `insertInto` adds, `removeFrom` takes away to the byte, from the text alone.
 *
 * Three rules make that possible.
 * 1. What is inserted stands behind all that the container held, its comments too, directly after
 *    the last of it; so all white space before it came with it.
 * 2. A container without a trailing comma gets its comma directly after its last child and none
 *    behind ours; one with a trailing comma gets one directly behind ours. So a comma that follows
 *    ours goes with it, and with none the one before it goes.
 * 3. A container found empty gets its first child directly behind its opening bracket, with no
 *    white space; one that we create never has its first child there (see `render`). So it shows
 *    whether an empty container is ours to remove. Formatters spoil this sign, and then the
 *    container goes: an empty one means the same as none.
 */

/** What to insert: a value into an array, a key and its value into an object. */
export type NewChild = { key?: string; value: unknown };

/** How inserted text is laid out: undefined is all on one line. */
type Layout = { lineEnd: string; indent: string; unit: string } | undefined;

/** Inserts children at the end of an object or array. */
export function insertInto(doc: JsoncText, container: Node, children: readonly NewChild[]): Edit[] {
  const last = container.children?.at(-1);
  const before = tokenBefore(doc, endOf(container) - 1);
  const lead = leadFor(doc, container, last, before);
  const first = last || before.kind !== "other" ? lead : ""; // rule 3
  const trailingComma = last && isComma(doc, tokenAfter(doc, endOf(last)));
  const layout = layoutOf(lead, unitOf(doc));
  const texts = children.map((child) => render(child, layout));
  const inserted = `${first}${texts.join(`,${lead}`)}${trailingComma ? "," : ""}`;
  const here = { from: before.to, to: before.to, text: inserted };
  if (!last || trailingComma) return [here];
  return [{ from: endOf(last), to: endOf(last), text: "," }, here];
}

/** Removes some children of an object or array, with the white space and the comma that are theirs. */
export function removeFrom(doc: JsoncText, container: Node, gone: ReadonlySet<Node>): Edit[] {
  const children = container.children ?? [];
  const lastKept = children.findLastIndex((child) => !gone.has(child));
  const commaAfter = (child: Node) => {
    const next = tokenAfter(doc, endOf(child));
    return isComma(doc, next) ? [{ from: next.from, to: next.to, text: "" }] : [];
  };
  const edits = children
    .filter((child) => gone.has(child))
    .flatMap((child) => [
      { from: tokenBefore(doc, child.offset).to, to: endOf(child), text: "" },
      ...commaAfter(child),
    ]);
  const last = children.at(-1);
  const kept = children[lastKept];
  const endsWithOurs = last && gone.has(last) && commaAfter(last).length === 0;
  return kept && endsWithOurs ? [...edits, ...commaAfter(kept)] : edits;
}

/**
 * Returns whether a container whose children are all being removed was made by us: it holds no
 * comment, and rule 3 does not say that it was found empty.
 */
export function isOursToRemove(doc: JsoncText, container: Node): boolean {
  const [first] = container.children ?? [];
  if (!first) return false;
  const isInChild = (at: number) =>
    container.children?.some((child) => child.offset < at && at < endOf(child));
  const comments = doc.tokens.filter(
    ({ kind, from, to }) =>
      kind !== "other" && from > container.offset && to < endOf(container) && !isInChild(from),
  );
  return first.offset > container.offset + 1 && comments.length === 0;
}

/** Writes a value on several lines, or on one with a space inside every bracket. */
function render({ key, value }: NewChild, layout: Layout): string {
  const name = key === undefined ? "" : `${JSON.stringify(key)}: `;
  return name + renderValue(value, layout);
}

function renderValue(value: unknown, layout: Layout): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = layout && { ...layout, indent: layout.indent + layout.unit };
  const children = Array.isArray(value)
    ? value.map((item) => renderValue(item, inner))
    : Object.entries(value).map(([key, item]) => render({ key, value: item }, inner));
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  if (children.length === 0) return `${open}${close}`;
  const line = (at: Layout) => (at ? at.lineEnd + at.indent : " ");
  const joined = children.join(inner ? `,${line(inner)}` : ", ");
  return `${open}${line(inner)}${joined}${line(layout)}${close}`;
}

/** The text of a new file with this one object in it. */
export const newFile = (value: object): string =>
  `${renderValue(value, { lineEnd: "\n", indent: "", unit: "  " })}\n`;

/** The white space to put before an inserted child: like its neighbour's, or as the text does it. */
function leadFor(doc: JsoncText, container: Node, last: Node | undefined, before: Token): string {
  const neighbour = last && doc.text.slice(tokenBefore(doc, last.offset).to, last.offset);
  const isBehindLineComment = before.kind === "lineComment";
  if (neighbour !== undefined && !isBehindLineComment) return neighbour;
  // Spaces directly behind a line comment would become a part of it.
  if (neighbour !== undefined && hasLineEnd(neighbour)) return neighbour.replace(/^[ \t]+/, "");
  const ownLine = `${lineEndOf(doc)}${indentAt(doc, container.offset)}${unitOf(doc)}`;
  return isBehindLineComment || isSpreadOut(doc) ? ownLine : " ";
}

function layoutOf(lead: string, unit: string): Layout {
  const [, lineEnd, indent] = /(\r\n|\r|\n)([^\r\n]*)$/.exec(lead) ?? [];
  if (lineEnd === undefined || indent === undefined) return undefined;
  return { lineEnd, indent, unit };
}

/** Whether the text puts the children of its root on lines of their own. */
function isSpreadOut({ text, root }: JsoncText): boolean {
  const [first] = root.children ?? [];
  return !first || hasLineEnd(text.slice(root.offset, first.offset));
}

/** What one level of indentation is here. */
function unitOf({ text, root }: JsoncText): string {
  const [first] = root.children ?? [];
  const [, indent] = /[\r\n]([ \t]+)$/.exec(text.slice(0, first?.offset ?? 0)) ?? [];
  return indent ?? "  ";
}

const hasLineEnd = (text: string) => /[\r\n]/.test(text);
const lineEndOf = ({ text }: JsoncText) => /\r\n|\r|\n/.exec(text)?.[0] ?? "\n";
const indentAt = ({ text }: JsoncText, offset: number) =>
  /(?:^|[\r\n])([ \t]*)[^\r\n]*$/.exec(text.slice(0, offset))?.[1] ?? "";

const isComma = ({ text }: JsoncText, token: Token | undefined): token is Token =>
  token !== undefined && text[token.from] === ",";

/** The last token that ends at or before an offset; inside an object or array there always is one. */
function tokenBefore({ tokens }: JsoncText, offset: number): Token {
  const found = tokens.findLast(({ to }) => to <= offset);
  if (!found) throw new Error(`no token before ${offset}`);
  return found;
}

/** The next token that is no comment. */
const tokenAfter = ({ tokens }: JsoncText, offset: number): Token | undefined =>
  tokens.find(({ from, kind }) => from >= offset && kind === "other");

import { createScanner, type Node, type ParseError, parseTree } from "jsonc-parser";

/** Why a text cannot be edited, in words that follow "it". */
export class Unfit extends Error {
  /** Another look may find it whole: what is there may be half of somebody's write. */
  readonly maybeTorn: boolean;

  constructor(reason: string, { maybeTorn = false, cause }: UnfitOptions = {}) {
    super(reason, { cause });
    this.name = "Unfit";
    this.maybeTorn = maybeTorn;
  }
}

type UnfitOptions = { maybeTorn?: boolean; cause?: unknown };

/** A piece of a text that is no white space: a comment, or what the parser sees. */
export type Token = { kind: "comment" | "lineComment" | "other"; from: number; to: number };

/** One replacement: the characters between `from` and `to` give way to `text`. */
export type Edit = { from: number; to: number; text: string };

/** A JSONC text with an object at its root, and where everything in it stands. */
export type JsoncText = { text: string; root: Node; tokens: readonly Token[] };

// jsonc-parser has these as a `const enum`, which single-file compilers cannot read.
const LINE_COMMENT = 12;
const BLOCK_COMMENT = 13;
const LINE_BREAK = 14;
const SPACES = 15;
const END = 17;

const BYTE_ORDER_MARK = "\uFEFF";

/**
 * Reads a text in which comments and trailing commas are allowed.
 *
 * @throws Unfit when it is not that, or its root is no object.
 */
export function readJsonc(text: string): JsoncText {
  // To the parser a byte order mark is a foreign character, and to everybody else it is nothing.
  const shown = text.startsWith(BYTE_ORDER_MARK) ? ` ${text.slice(1)}` : text;
  const errors: ParseError[] = [];
  const root = parseTree(shown, errors, { allowTrailingComma: true });
  if (shown.trim() === "") throw new Unfit("is empty", { maybeTorn: true });
  const [first] = errors;
  if (first || !root) {
    const line = shown.slice(0, first?.offset ?? 0).split(/\r\n|\r|\n/).length;
    throw new Unfit(`is no valid JSON, not even with comments (line ${line})`, { maybeTorn: true });
  }
  if (root.type !== "object") throw new Unfit("holds no JSON object");
  return { text, root, tokens: tokensOf(shown) };
}

function tokensOf(text: string): Token[] {
  const scanner = createScanner(text, false);
  const tokens: Token[] = [];
  for (let kind: number = scanner.scan(); kind !== END; kind = scanner.scan()) {
    if (kind === LINE_BREAK || kind === SPACES) continue;
    const from = scanner.getTokenOffset();
    const to = from + scanner.getTokenLength();
    const named = { [LINE_COMMENT]: "lineComment", [BLOCK_COMMENT]: "comment" } as const;
    tokens.push({ kind: named[kind as keyof typeof named] ?? "other", from, to });
  }
  return tokens;
}

/** Applies edits that do not overlap; of two at one place the first given comes first. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  let result = "";
  let done = 0;
  for (const { from, to, text: inserted } of edits.toSorted((a, b) => a.from - b.from)) {
    result += text.slice(done, from) + inserted;
    done = to;
  }
  return result + text.slice(done);
}

export const endOf = (node: Node): number => node.offset + node.length;

/**
 * Returns the value of an object's key; undefined when the object has no such key.
 *
 * @throws Unfit when the key is there twice: programs do not agree which of the two counts.
 */
export function valueAt(object: Node | undefined, key: string): Node | undefined {
  const [property, second] = propertiesOf(object).filter(([name]) => name === key);
  if (second) throw new Unfit(`has the key ${JSON.stringify(key)} twice in one object`);
  return property?.[1];
}

/** An object's keys and values in their order; a node of another kind has none. */
export function propertiesOf(object: Node | undefined): [string, Node][] {
  if (object?.type !== "object") return [];
  return (object.children ?? []).flatMap((property) => {
    const [key, value] = property.children ?? [];
    return key && value ? [[key.value as string, value] as [string, Node]] : [];
  });
}

/** An array's elements; a node of another kind has none. */
export const elementsOf = (array: Node | undefined): readonly Node[] =>
  array?.type === "array" ? (array.children ?? []) : [];

import stringWidth from "string-width";

const ELLIPSIS = "…";

const segmenter = new Intl.Segmenter();
const graphemesOf = (text: string) => Array.from(segmenter.segment(text), (part) => part.segment);

// A live screen measures the same texts each second, and measuring is most of its work.
const MAX_KNOWN = 4096;
const MAX_KNOWN_LENGTH = 256;
const known = new Map<string, number>();

/** Display width of text in terminal cells. */
export function widthOf(text: string): number {
  const width = known.get(text) ?? stringWidth(text);
  if (text.length > MAX_KNOWN_LENGTH) return width;
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(text, width);
  return width;
}

/** Shortens text to at most `width` cells, the end replaced by an ellipsis. */
export function cutEnd(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  return width < 1 ? "" : beside(graphemesOf(text), width).join("") + ELLIPSIS;
}

/** Shortens text to at most `width` cells, the start replaced by an ellipsis. */
export function cutStart(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  return width < 1 ? "" : ELLIPSIS + beside(graphemesOf(text).reverse(), width).reverse().join("");
}

/** Pads text with spaces to `width` cells. */
export function pad(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}

/** The first of the graphemes, as many as have room beside an ellipsis. */
function beside(graphemes: string[], width: number): string[] {
  let room = width - 1;
  const end = graphemes.findIndex((grapheme) => {
    room -= widthOf(grapheme);
    return room < 0;
  });
  return end === -1 ? graphemes : graphemes.slice(0, end);
}

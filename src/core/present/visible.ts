// Everything that draws nothing: controls, line ends, bidi and other format characters, fillers,
// surrogates without their partner.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

// Behind an emoji these only choose between its two drawings, and terminals disagree about how wide
// the result is.
const EMOJI_STYLE = /(?<=\p{Extended_Pictographic})[\ufe0e\ufe0f]/gu;

/**
 * Makes text from elsewhere safe to print on a terminal and honest to look at: whatever could move
 * the cursor, reorder or hide text is shown as an escape such as `\x1b` or `\u202e`.
 */
export function visible(text: string): string {
  return text.replace(EMOJI_STYLE, "").replace(UNSEEN, escapeOf);
}

function escapeOf(character: string): string {
  const hex = (character.codePointAt(0) ?? 0).toString(16);
  if (hex.length <= 2) return `\\x${hex.padStart(2, "0")}`;
  return hex.length <= 4 ? `\\u${hex.padStart(4, "0")}` : `\\u{${hex}}`;
}

import type { Entry, SessionState } from "../protocol/session.ts";

/** How a state is told to people: the glyphs differ in shape, so they work without colour. */
export type Label = { glyph: string; word: string };

// The glyphs are one cell wide in every terminal: none is of ambiguous width.
const labels: Record<SessionState, Label> = {
  waiting_for_permission: { glyph: "!", word: "needs permission" },
  waiting_for_input: { glyph: "?", word: "needs input" },
  working: { glyph: "▸", word: "working" },
  idle: { glyph: "◦", word: "idle" },
  starting: { glyph: "◌", word: "starting" },
  ended: { glyph: "-", word: "ended" },
};
const FAILED_GLYPH = "✗";

/** Returns glyph and word of a state; one that a newer daemon has added is shown as it is spelled. */
export function labelOf(state: SessionState): Label {
  return Object.hasOwn(labels, state) ? labels[state] : { glyph: "·", word: String(state) };
}

/**
 * Returns what a session is doing, in a few words: its state, the error word of a turn that failed,
 * and how many background commands still run.
 */
export function statusOf(entry: Entry): Label {
  const { glyph, word } = labelOf(entry.state);
  const failed = hasFailed(entry) ? ` (${entry.error})` : "";
  const background = entry.background ? ` +${entry.background} bg` : "";
  return { glyph: failed ? FAILED_GLYPH : glyph, word: `${word}${failed}${background}` };
}

/** Whether a session waits for the person at it. */
export function isWaiting(state: SessionState): boolean {
  return state === "waiting_for_permission" || state === "waiting_for_input";
}

/** Whether a session stands still because its last turn failed. */
export function hasFailed(entry: Entry): boolean {
  return entry.error !== undefined && (entry.state === "idle" || entry.state === "starting");
}

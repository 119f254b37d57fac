import type { Entry, SessionState } from "../protocol/session.ts";
import { type EpochMs, parseTime } from "../protocol/time.ts";
import { hasFailed, isWaiting } from "./labels.ts";

const ranks: Record<SessionState, number> = {
  waiting_for_permission: 0,
  waiting_for_input: 1,
  working: 3,
  idle: 4,
  starting: 4,
  ended: 5,
};
const FAILED_RANK = 2;

/**
 * Returns the sessions with those that need a person first: permission, input, a failed turn, then
 * working, idle and ended ones.
 *
 * Of two that wait alike the one that has waited longer comes first; of all others the one that
 * changed last. The order never depends on the order of what is given.
 */
export function inOrder(entries: readonly Entry[]): Entry[] {
  return entries
    .map((entry) => ({ entry, rank: rankOf(entry), since: sinceOf(entry) ?? 0 }))
    .sort(
      (a, b) =>
        a.rank - b.rank ||
        (isWaiting(a.entry.state) ? a.since - b.since : b.since - a.since) ||
        (a.entry.session_id < b.entry.session_id ? -1 : 1),
    )
    .map(({ entry }) => entry);
}

/** Since when a session is in its state; `undefined` when the daemon does not tell. */
export function sinceOf(entry: Entry): EpochMs | undefined {
  return parseTime(entry.state_since ?? "");
}

// What a newer daemon may add counts as idle: it must neither shout nor vanish.
const rankOf = (entry: Entry) => (hasFailed(entry) ? FAILED_RANK : (ranks[entry.state] ?? 4));

import type { Entry } from "../protocol/session.ts";
import { isWaiting } from "./labels.ts";

/** How many sessions do what; ended and headless ones are in none of the numbers. */
export type Counts = { working: number; waiting: number; idle: number };

/** Counts the sessions that are somebody's. One that has not been prompted yet counts as idle. */
export function countsOf(entries: readonly Entry[]): Counts {
  const live = entries.filter((entry) => entry.state !== "ended" && !entry.headless);
  const waiting = live.filter((entry) => isWaiting(entry.state)).length;
  const working = live.filter((entry) => entry.state === "working").length;
  return { working, waiting, idle: live.length - waiting - working };
}

/** Writes the counts as one line: `3 session(s): 1 working, 1 waiting, 1 idle`. */
export function summaryOf(entries: readonly Entry[]): string {
  const { working, waiting, idle } = countsOf(entries);
  const total = working + waiting + idle;
  return `${total} session(s): ${working} working, ${waiting} waiting, ${idle} idle`;
}

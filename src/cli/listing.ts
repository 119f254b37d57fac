import { inOrder } from "../core/present/order.ts";
import type { Entry } from "../core/protocol/session.ts";
import { shortenHome } from "../platform/paths.ts";
import { cutEnd } from "./cells.ts";
import { paintFor } from "./paint.ts";
import { type TableOptions, tableLines } from "./table.ts";
import type { World } from "./world.ts";

export type ListingOptions = TableOptions & {
  /** Shows headless runs, too. */
  all: boolean;
};

/** Writes the sessions for people, those that need somebody first, as lines. */
export function listingLines(entries: readonly Entry[], options: ListingOptions): string[] {
  const { shown, hidden } = selected(entries, options.all);
  const { width = Number.POSITIVE_INFINITY, paint } = options;
  const body = shown.length > 0 ? tableLines(inOrder(shown), options) : nothingLines(width);
  return hidden > 0 ? [...body, paint("dim", cutEnd(hiddenText(hidden), width))] : body;
}

/** Parts the sessions that are shown from the number of those that are not. */
export function selected(
  entries: readonly Entry[],
  all: boolean,
): { shown: Entry[]; hidden: number } {
  const shown = entries.filter((entry) => all || !entry.headless);
  return { shown, hidden: entries.length - shown.length };
}

/** What is said instead of an empty table. */
export const nothingLines = (width: number) =>
  ["No sessions are running.", "Start claude or codex in another terminal: it appears here."].map(
    (text) => cutEnd(text, width),
  );

/** Tells that some are not shown, and how to see them. */
export const hiddenText = (hidden: number) =>
  `${hidden} headless ${hidden === 1 ? "run is" : "runs are"} hidden; --all shows ${hidden === 1 ? "it" : "them"}`;

/** The sessions as they are printed once, to a terminal or into a file. */
export function listingText(
  entries: readonly Entry[],
  all: boolean,
  { stdout, host, clock }: Pick<World, "stdout" | "host" | "clock">,
): string {
  const lines = listingLines(entries, {
    all,
    now: clock.now(),
    shorten: (path) => shortenHome(path, host.home),
    paint: paintFor(stdout, host.env),
    ...(stdout.isTTY && { width: stdout.columns || 80 }),
  });
  return lines.map((line) => `${line}\n`).join("");
}

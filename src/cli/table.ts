import { ageOf } from "../core/present/age.ts";
import { hasFailed, isWaiting, statusOf } from "../core/present/labels.ts";
import { sinceOf } from "../core/present/order.ts";
import { visible } from "../core/present/visible.ts";
import type { Entry } from "../core/protocol/session.ts";
import type { EpochMs } from "../core/protocol/time.ts";
import { cutEnd, cutStart, pad, widthOf } from "./cells.ts";
import type { Paint, Style } from "./paint.ts";

export type TableOptions = {
  now: EpochMs;
  /** Cells in a line; without it nothing is cut. */
  width?: number;
  /** Writes a path as people do, `~` for home. */
  shorten: (path: string) => string;
  paint: Paint;
};

// In this order they stand in a row. A column keeps its `least` in a narrow line; by `rank` they get
// the spare room, first up to their `most`, and from the other end those that can go do so when not
// even the least of all fits.
const columns = [
  { head: "STATE", least: 18, most: 32, rank: 2, goes: false, cut: cutEnd },
  { head: "SINCE", least: 7, most: 7, rank: 0, goes: false, cut: cutEnd },
  { head: "AGENT", least: 6, most: 16, rank: 1, goes: true, cut: cutEnd },
  { head: "SESSION", least: 12, most: 32, rank: 3, goes: false, cut: cutEnd },
  // The end of a path tells more than its start.
  { head: "DIRECTORY", least: 10, most: 40, rank: 4, goes: true, cut: cutStart },
  { head: "MODEL", least: 8, most: 24, rank: 5, goes: true, cut: cutEnd },
] as const;
const GAP = "  ";

/** Lays out sessions, in the order given, as lines: a heading, then one for each. */
export function tableLines(entries: readonly Entry[], options: TableOptions): string[] {
  const { width = Number.POSITIVE_INFINITY, paint } = options;
  const heads = columns.map(({ head }) => head);
  const rows = entries.map((entry) => cellsOf(entry, options));
  const widths = share(naturalWidths([heads, ...rows]), width);
  const lineOf = (cells: readonly string[]) => cutEnd(joined(cells, widths), width);
  const rowOf = (entry: Entry, i: number) => {
    const line = lineOf(rows[i] ?? []);
    const { style, whole } = styleOf(entry);
    if (whole) return paint(style, line);
    const state = cutEnd(rows[i]?.[0] ?? "", widths[0] ?? 0);
    return paint(style, line.slice(0, state.length)) + line.slice(state.length);
  };
  return [paint("dim", lineOf(heads)), ...entries.map(rowOf)];
}

function cellsOf(entry: Entry, { now, shorten }: TableOptions): string[] {
  const { glyph, word } = statusOf(entry);
  const since = sinceOf(entry);
  return [
    `${glyph} ${word}`,
    since === undefined ? "" : ageOf(since, now),
    entry.agent,
    entry.name ?? entry.repo ?? entry.session_id.slice(0, 8),
    entry.cwd === undefined ? "" : shorten(entry.cwd),
    entry.model ?? "",
  ].map(visible);
}

/** Those that wait stand out with their whole line. */
function styleOf(entry: Entry): { style: Style; whole: boolean } {
  if (isWaiting(entry.state)) return { style: "alert", whole: true };
  if (hasFailed(entry)) return { style: "failure", whole: false };
  if (entry.state === "working") return { style: "good", whole: false };
  return { style: entry.state === "ended" ? "dim" : "plain", whole: true };
}

const naturalWidths = (rows: readonly (readonly string[])[]) =>
  columns.map((_, i) => Math.max(...rows.map((row) => widthOf(row[i] ?? ""))));

/** The width each column gets in a line of `limit` cells; 0 means it is not shown. */
function share(natural: readonly number[], limit: number): number[] {
  if (limit === Number.POSITIVE_INFINITY) return [...natural];
  const widths = columns.map(({ least }, i) => Math.min(natural[i] ?? 0, least));
  const byRank = columns.map((column, i) => ({ ...column, i })).sort((a, b) => a.rank - b.rank);
  const spare = () => {
    const shown = widths.filter((width) => width > 0);
    return limit - shown.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
  };
  for (const column of byRank.toReversed()) if (spare() < 0 && column.goes) widths[column.i] = 0;
  const grow = (i: number, most: number) => {
    const width = widths[i] ?? 0;
    const wanted = Math.min(natural[i] ?? 0, most) - width;
    if (width > 0) widths[i] = width + Math.max(0, Math.min(wanted, spare()));
  };
  for (const { i, most } of byRank) grow(i, most);
  for (const { i } of byRank) grow(i, Number.POSITIVE_INFINITY);
  return widths;
}

const joined = (cells: readonly string[], widths: readonly number[]) =>
  columns
    .map(({ cut }, i) => pad(cut(cells[i] ?? "", widths[i] ?? 0), widths[i] ?? 0))
    .filter((_, i) => (widths[i] ?? 0) > 0)
    .join(GAP)
    .trimEnd();

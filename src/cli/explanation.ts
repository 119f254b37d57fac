import { ageOf } from "../core/present/age.ts";
import { statusOf } from "../core/present/labels.ts";
import { visible } from "../core/present/visible.ts";
import type { Explanation, Keeper, SourceView, TraceLine } from "../core/protocol/explanation.ts";
import { type EpochMs, parseTime } from "../core/protocol/time.ts";

/** Writes for people why a session shows what it shows, as lines. */
export function explanationLines(
  { session, decided_by, sources, kept_by, sightings }: Explanation,
  { now, shorten }: { now: EpochMs; shorten: (path: string) => string },
): string[] {
  const age = (time: string) => ageOf(parseTime(time) ?? now, now);
  const { glyph, word } = statusOf(session);
  const where = [
    session.cwd === undefined ? undefined : shorten(session.cwd),
    session.pid === undefined ? undefined : `process ${session.pid}`,
    session.headless ? "headless" : undefined,
  ].filter((part) => part !== undefined);
  const lines = [
    `${session.agent} ${session.session_id}`,
    ...(where.length > 0 ? [`  ${where.join(", ")}`] : []),
    `  ${glyph} ${word} for ${age(session.state_since)}, as ${decided_by} ${verb(decided_by)}`,
    "",
    "What each source says, the most trusted first:",
    ...columns(sources.map((source) => sourceCells(source, source.source === decided_by, age))),
    "",
    "What keeps it listed:",
    ...kept_by.map((keeper) => `  ${keeperText(keeper, now)}`),
    "",
    `What was seen of it, the newest last (UTC, ${session.last_seen.slice(0, 10)}):`,
    ...(sightings.length > 0 ? columns(sightings.map(sightingCells)) : ["  nothing yet"]),
  ];
  return lines.map(visible);
}

const verb = (source: Explanation["decided_by"]) => (source === "events" ? "say" : "says");

function sourceCells(
  { source, says = "a word that is not known", since, loses }: SourceView,
  isBelieved: boolean,
  age: (time: string) => string,
): string[] {
  const verdict = isBelieved ? "believed" : `not believed: ${loses ?? "others go before it"}`;
  return [source, says, `for ${age(since)}`, verdict];
}

function keeperText(keeper: Keeper, now: EpochMs): string {
  if ("until" in keeper) {
    const left = ageOf(now, parseTime(keeper.until) ?? now);
    return keeper.by === "ttl"
      ? `nothing that lives is known to hold it: it goes in ${left} unless more is seen`
      : `it has ended: the row goes in ${left}`;
  }
  const pid = keeper.pid === undefined ? "" : ` of process ${keeper.pid}`;
  switch (keeper.by) {
    case "stream":
      return `reports${pid} that are repeated`;
    case "record":
      return `the process record${pid}`;
    case "lock":
      return keeper.pid === undefined ? "a lock that is held" : `the lock${pid}`;
    case "process":
      return `process ${keeper.pid} lives, and this is the session it is in`;
  }
}

function sightingCells({ at, source, event, effect = "", times }: TraceLine): string[] {
  const often = times === undefined ? event : `${event} x${times}`;
  return [at.slice(11, 23), source, often, effect];
}

/** Sets cells under each other, indented. */
function columns(rows: string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows.map((row) =>
    `  ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  ")}`.trimEnd(),
  );
}

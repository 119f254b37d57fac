import type { DecidedBy, TraceLine } from "../protocol/explanation.ts";
import { MAX_SESSIONS, MAX_TRACE_LINES } from "../protocol/limits.ts";
import type { Report } from "../protocol/report.ts";
import type { SessionState } from "../protocol/session.ts";
import { type EpochMs, formatTime } from "../protocol/time.ts";

/** What a session shows, and by which evidence; undefined while it is not listed. */
export type Shown = { state: SessionState; by: DecidedBy } | undefined;

/** Of one session: what was seen, and the state that this has come to. */
type Trace = { lines: Line[]; state: SessionState };
type Line = Omit<TraceLine, "at" | "times"> & { at: EpochMs; times: number };

/** The latest that was seen of each session, so that it can be told how its state came about. */
export class Traces {
  readonly #traces = new Map<string, Trace>();

  /** Notes what a report came to. */
  note(
    report: Report,
    source: string,
    now: EpochMs,
    { before, after }: { before: Shown; after: Shown },
  ): void {
    const id = sessionOf(report);
    if (id === undefined) return;
    if (!after) {
      this.#traces.delete(id);
      return;
    }
    const trace = this.#traces.get(id) ?? this.#open(id, after.state);
    if (before) noteTime(trace, before.state, now);
    trace.state = after.state;
    const effect = effectOf(report, before, after);
    const event = eventName(report);
    const last = trace.lines.at(-1);
    if (last && !effect && !last.effect && last.source === source && last.event === event) {
      last.at = now;
      last.times += 1;
    } else {
      add(trace, { at: now, source, event, times: 1, ...(effect ? { effect } : {}) });
    }
  }

  /**
   * What is remembered of a session, oldest first.
   *
   * @param state  what it shows now, and since when.
   */
  of(id: string, state: SessionState, since: EpochMs): TraceLine[] {
    const trace = this.#traces.get(id) ?? { lines: [], state };
    noteTime(trace, state, since);
    return trace.lines.map(({ at, times, ...line }) => ({
      at: formatTime(at),
      ...line,
      ...(times > 1 ? { times } : {}),
    }));
  }

  // Sessions that aged out are not reported as gone: the longest untouched make room.
  #open(id: string, state: SessionState): Trace {
    const oldest = this.#traces.size >= MAX_SESSIONS ? this.#traces.keys().next().value : undefined;
    if (oldest !== undefined) this.#traces.delete(oldest);
    const trace: Trace = { lines: [], state };
    this.#traces.set(id, trace);
    return trace;
  }
}

/** A state that changed though nothing was reported: some evidence was overtaken by time. */
function noteTime(trace: Trace, state: SessionState, at: EpochMs): void {
  if (trace.state === state) return;
  const effect = `${trace.state} -> ${state}`;
  add(trace, { at, source: "time", event: "passed", times: 1, effect });
  trace.state = state;
}

function add({ lines }: Trace, line: Line): void {
  lines.push(line);
  if (lines.length > MAX_TRACE_LINES) lines.shift();
}

/** The session that a report is about, where it names one. */
export function sessionOf(report: Report): string | undefined {
  switch (report.kind) {
    case "sighting":
      return report.sighting.session_id;
    case "event":
      return report.event.sessionId;
    case "end":
      return report.ending.session_id;
    case "record":
      return report.record.sessionId;
    case "record_gone":
      return undefined;
    case "record_stale":
    case "stream_lost":
    case "lock_freed":
      return report.sessionId;
    case "lock":
      return report.lock.sessionId;
  }
}

function eventName(report: Report): string {
  switch (report.kind) {
    case "sighting":
      return wordOf(report.sighting.event);
    case "event":
      return report.event.name ?? wordOf(report.event.event);
    case "end":
      return report.ending.reason ? `end (${report.ending.reason})` : "end";
    case "record":
      return `record ${report.record.word}`;
    case "record_gone":
      return "record gone";
    case "record_stale":
      return "record left behind";
    case "stream_lost":
      return "stream lost";
    case "lock":
      return "lock held";
    case "lock_freed":
      return "lock free";
  }
}

const wordOf = (event: string | object) =>
  typeof event === "string" ? event : Object.entries(event).flat().join(" ");

function effectOf(report: Report, before: Shown, after: NonNullable<Shown>): string | undefined {
  if (!before) return `appears: ${after.state}`;
  if (before.state !== after.state) return `${before.state} -> ${after.state}`;
  const isEvent = report.kind === "event" || report.kind === "end";
  const isOutranked = after.by === "stream" || after.by === "record";
  return isEvent && isOutranked ? `kept: the ${after.by} decides` : undefined;
}

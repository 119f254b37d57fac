import type { DecidedBy } from "../protocol/explanation.ts";
import { HEARTBEAT_MS } from "../protocol/limits.ts";
import type { SessionState } from "../protocol/session.ts";
import type { EpochMs } from "../protocol/time.ts";
import { stateOf } from "./facts.ts";
import type { Session, Statement } from "./session.ts";

/** An exact stream that was not heard of for two and a half heartbeats no longer speaks. */
export const STREAM_ALIVE_MS = 2.5 * HEARTBEAT_MS;

/** A record that did not move for this long after an event contradicted it has lost. */
export const RECORD_PATIENCE_MS = 30_000;

/** Growth this soon after an event is the event's own echo: its lines reach the file after it. */
export const ECHO_MS = 10_000;

/** Growth counts as work for this long; the next growth renews it. */
export const GROWTH_COUNTS_MS = 15_000;

/** What one source says of a session's state, and why it is not believed, if it is not. */
export type Claim = {
  by: DecidedBy;
  /** Absent when the source speaks a word that nobody here understands. */
  state?: SessionState;
  /** Since when it is so, as the source has it. */
  since: EpochMs;
  loses?: string;
};

/** The state to show, since when it is so, and the evidence that decided it. */
export type Decision = { state: SessionState; since: EpochMs; by: DecidedBy };

/**
 * Decides who is believed: the first claim that does not lose. This is the one place where sources
 * meet:
 *
 * | asked in this order | says | unless |
 * |---|---|---|
 * | an end | `ended` | newer evidence revived the session |
 * | a live stream | its state, verbatim | it was not heard of for 75 s |
 * | a live process record | its state, verbatim | an event contradicts it and it has not moved for 30 s |
 * | growth, while what events tell is idle, and no record is there | `working` | an event came in the 10 s before; 15 s went by without more |
 * | the facts from events and earlier statements | what they add up to | |
 *
 * The reasons are in docs/adr/0004-one-pure-state-machine.md.
 */
export function decide(session: Session, now: EpochMs): Decision {
  for (const { by, state, since, loses } of claims(session, now)) {
    if (state !== undefined && loses === undefined) return { by, state, since };
  }
  return { by: "events", state: "idle", since: session.startedAt }; // never: events always claim
}

/** What each source says, in the order in which they are believed. */
export function* claims(session: Session, now: EpochMs): Generator<Claim> {
  const { stream, growth, facts, endedAt } = session;
  if (endedAt !== undefined) yield { by: "end", state: "ended", since: endedAt };
  if (stream) {
    const isAlive = isStreamAlive(stream, now);
    yield claim("stream", stream, isAlive ? undefined : "it was not heard of for 75 s");
  }
  const record = newestRecord(session);
  if (record) {
    const hasLost = now >= (patienceEnd(record) ?? Number.POSITIVE_INFINITY);
    const why = "an event told otherwise, and it has not moved in the 30 s since";
    yield claim("record", record, hasLost ? why : undefined);
  }
  const state = stateOf(facts);
  let { since } = facts;
  if (growth) {
    const loses = whyGrowthLoses(state, record !== undefined, now >= growth.until);
    yield { by: "growth", state: "working", since: growth.at, ...(loses ? { loses } : {}) };
    if (state === "idle" && !record) since = Math.max(since, growth.until);
  }
  yield { by: "events", state, since };
}

const claim = (by: DecidedBy, { state, at }: Statement, loses: string | undefined): Claim => ({
  by,
  since: at,
  ...(state === undefined ? {} : { state }),
  ...(loses === undefined ? {} : { loses }),
});

function whyGrowthLoses(told: SessionState, isRecorded: boolean, isOver: boolean) {
  if (isRecorded) return "a process record is there to tell";
  if (told !== "idle")
    return "it proves only that bytes were written: it ends nothing but idleness";
  return isOver ? "15 s went by without more" : undefined;
}

export function isStreamAlive(stream: Statement, now: EpochMs): boolean {
  return now < stream.heardAt + STREAM_ALIVE_MS;
}

/** Whether any exact source speaks for the session now, so that lesser evidence only keeps. */
export function hasLiveStatement(session: Session, now: EpochMs): boolean {
  if (session.stream && isStreamAlive(session.stream, now)) return true;
  return newestRecord(session)?.state !== undefined;
}

/** Of several processes that hold one id, the one that moved last tells what the session does. */
export function newestRecord(session: Session): Statement | undefined {
  let newest: Statement | undefined;
  for (const record of session.records.values()) {
    if (record.state && (!newest || record.at >= newest.at)) newest = record;
  }
  return newest;
}

/** When a record that events contradict will have lost; `undefined` while nothing contradicts it. */
export function patienceEnd(record: Statement): EpochMs | undefined {
  const { contradictedAt } = record;
  return contradictedAt === undefined ? undefined : contradictedAt + RECORD_PATIENCE_MS;
}

/** After an event at `at`: notes which records events contradict. One that lost stays lost. */
export function noteContradiction(session: Session, at: EpochMs): void {
  for (const record of session.records.values()) {
    if (at >= (patienceEnd(record) ?? Number.POSITIVE_INFINITY)) continue;
    if (isContradicted(session, record)) record.contradictedAt ??= at;
    else delete record.contradictedAt;
  }
}

/**
 * Whether newer events tell of another state. A start says no more than that it rests; and that
 * somebody was asked is for the record to tell.
 */
export function isContradicted({ facts, toldAt }: Session, { state, at }: Statement): boolean {
  if (state === undefined || toldAt === undefined || toldAt < at) return false;
  const isWaiting = state === "waiting_for_permission" || state === "waiting_for_input";
  const told = stateOf(isWaiting ? facts : { ...facts, waits: [] });
  return (told === "starting" ? "idle" : told) !== (state === "starting" ? "idle" : state);
}

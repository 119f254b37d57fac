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

/** The state to show, since when it is so, and the evidence that decided it. */
export type Decision = {
  state: SessionState;
  since: EpochMs;
  by: "end" | "stream" | "record" | "events" | "growth";
};

/**
 * Decides who is believed. This is the one place where sources meet:
 *
 * | asked in this order | says | unless |
 * |---|---|---|
 * | an end | `ended` | newer evidence revived the session |
 * | a live stream | its state, verbatim | it was not heard of for 75 s |
 * | a live process record | its state, verbatim | an event contradicts it and it has not moved for 30 s |
 * | the facts from events and earlier statements | what they add up to | |
 * | growth, while those facts say idle | `working` | an event came in the 10 s before; 15 s went by without more |
 *
 * The reasons are in docs/adr/0004-one-pure-state-machine.md.
 */
export function decide(session: Session, now: EpochMs): Decision {
  if (session.endedAt !== undefined) return { state: "ended", since: session.endedAt, by: "end" };
  const { stream } = session;
  if (stream?.state && isStreamAlive(stream, now)) {
    return { state: stream.state, since: stream.at, by: "stream" };
  }
  const record = newestRecord(session);
  if (record?.state && now < (patienceEnd(record) ?? Number.POSITIVE_INFINITY)) {
    return { state: record.state, since: record.at, by: "record" };
  }
  const state = stateOf(session.facts);
  if (state === "idle" && session.growth && !record) {
    const { at, until } = session.growth;
    if (now < until) return { state: "working", since: at, by: "growth" };
    return { state, since: Math.max(session.facts.since, until), by: "events" };
  }
  return { state, since: session.facts.since, by: "events" };
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

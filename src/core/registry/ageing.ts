import type { EpochMs } from "../protocol/time.ts";
import { isStreamAlive, newestRecord, patienceEnd, STREAM_ALIVE_MS } from "./evidence.ts";
import { applyStatement, type Facts } from "./facts.ts";
import { revive } from "./intake.ts";
import { dropAt, isOpen } from "./liveness.ts";
import type { Session, Statement } from "./session.ts";

/** Puts away what time has overtaken: growth that was not renewed, a stream that fell silent. */
export function settle(session: Session, now: EpochMs): void {
  const { growth, stream } = session;
  if (growth && now >= growth.until) {
    session.facts = { ...session.facts, since: Math.max(session.facts.since, growth.until) };
    delete session.growth;
  }
  if (stream && !isStreamAlive(stream, now)) delete session.stream;
  if (session.endedAt === undefined || now < dropAt(session) || !isOpen(session)) return;
  // It was said to have ended, yet its process runs on and still names it: it has not.
  const record = newestRecord(session);
  revive(session, session.endedAt);
  if (!record?.state) return;
  const { state, at } = record;
  const told = applyStatement({ ...session.facts, at: 0 }, { state, background: 0, at });
  session.facts = { ...told, at: session.facts.at };
}

/** The times at which what is held of a session changes its state by itself. */
export function turningPoints(session: Session): EpochMs[] {
  const { stream, growth } = session;
  const record = newestRecord(session);
  const patience = record && patienceEnd(record);
  return [
    ...(patience === undefined ? [] : [patience]),
    ...(growth ? [growth.until] : []),
    ...(stream ? [stream.heardAt + STREAM_ALIVE_MS] : []),
    ...(session.endedAt === undefined ? [] : [dropAt(session)]),
  ];
}

/** The clock went back to `now`: whatever was noted as later is taken as just happened. */
export function rewind(session: Session, now: EpochMs): void {
  const clamp = (at: EpochMs) => Math.min(at, now);
  session.startedAt = clamp(session.startedAt);
  session.lastSeen = clamp(session.lastSeen);
  session.activeAt = clamp(session.activeAt);
  session.since = clamp(session.since);
  session.facts = rewindFacts(session.facts, clamp);
  if (session.eventAt !== undefined) session.eventAt = clamp(session.eventAt);
  if (session.toldAt !== undefined) session.toldAt = clamp(session.toldAt);
  if (session.endedAt !== undefined) session.endedAt = clamp(session.endedAt);
  if (session.growth) {
    const lasted = session.growth.until - session.growth.at;
    const at = clamp(session.growth.at);
    session.growth = { at, until: at + lasted };
  }
  if (session.lock) session.lock = { ...session.lock, at: clamp(session.lock.at) };
  if (session.stream) session.stream = rewindStatement(session.stream, clamp);
  for (const [pid, record] of session.records)
    session.records.set(pid, rewindStatement(record, clamp));
}

function rewindFacts(facts: Facts, clamp: (at: EpochMs) => EpochMs): Facts {
  return {
    ...facts,
    at: clamp(facts.at),
    since: clamp(facts.since),
    waits: facts.waits.map((wait) => ({ ...wait, at: clamp(wait.at) })),
    calls: facts.calls.map((call) => ({ ...call, at: clamp(call.at) })),
  };
}

function rewindStatement(statement: Statement, clamp: (at: EpochMs) => EpochMs): Statement {
  const { contradictedAt } = statement;
  return {
    ...statement,
    at: clamp(statement.at),
    heardAt: clamp(statement.heardAt),
    ...(contradictedAt === undefined ? {} : { contradictedAt: clamp(contradictedAt) }),
  };
}

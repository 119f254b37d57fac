import { MAX_REPLACED_PIDS } from "../protocol/limits.ts";
import type { ProcessRecord, SessionLock } from "../protocol/report.ts";
import type { Sighting } from "../protocol/session.ts";
import type { Signal } from "../protocol/signal.ts";
import type { EpochMs } from "../protocol/time.ts";
import {
  ECHO_MS,
  GROWTH_COUNTS_MS,
  hasLiveStatement,
  isContradicted,
  noteContradiction,
} from "./evidence.ts";
import { applySignal, applyStatement, restingFacts } from "./facts.ts";
import type { Session, Statement } from "./session.ts";
import { rankOf } from "./signal.ts";

/** The fields a reporter may know; one that it leaves out never erases a known one. */
type Fields = Pick<Sighting, "cwd" | "repo" | "transcript_path" | "model"> & { name?: string };

/** Fills in what a sighting knows of the session. Older evidence only fills gaps. */
export function fill(session: Session, fields: Fields, at: EpochMs): void {
  const isOld = at < session.lastSeen;
  const pick = (held: string | undefined, told: string | undefined) =>
    told === undefined || (isOld && held !== undefined) ? held : told;
  const cwd = pick(session.cwd, fields.cwd);
  if (cwd !== session.cwd) session.repoReported = false;
  const repo = pick(session.repo, fields.repo);
  if (fields.repo !== undefined && repo === fields.repo) session.repoReported = true;
  set(session, "cwd", cwd);
  set(session, "repo", repo);
  set(session, "transcriptPath", pick(session.transcriptPath, fields.transcript_path));
  set(session, "model", pick(session.model, fields.model));
  set(session, "name", pick(session.name, fields.name));
}

/** Fills in what a process record knows of the session now, however long its status has stood. */
export function fillRecord(session: Session, record: ProcessRecord, now: EpochMs): void {
  const { cwd, name, transcriptPath } = record;
  const fields = {
    ...(cwd === undefined ? {} : { cwd }),
    ...(name === undefined ? {} : { name }),
    ...(transcriptPath === undefined ? {} : { transcript_path: transcriptPath }),
  };
  fill(session, fields, now);
}

function set<K extends "cwd" | "repo" | "transcriptPath" | "model" | "name">(
  session: Session,
  key: K,
  value: string | undefined,
): void {
  if (value !== undefined) session[key] = value;
}

/**
 * Lets the process that a sighting came from take the session over. The one before is remembered
 * as replaced and never becomes the owner again.
 */
export function takeOver(session: Session, pid: number | undefined): void {
  if (pid === undefined || pid === session.owner || session.replaced.includes(pid)) return;
  if (session.owner !== undefined) {
    session.replaced = [...session.replaced, session.owner].slice(-MAX_REPLACED_PIDS);
  }
  session.owner = pid;
}

/**
 * Takes in that a process has the session open. Returns whether that is news, and not only that it
 * still has.
 */
export function takeLock(session: Session, lock: SessionLock, now: EpochMs): boolean {
  const { at, pid, isShared, fields } = lock;
  const isNews = session.lock?.at !== at;
  fill(session, fields, at);
  if (fields.transcript_path !== undefined) session.prompted = true;
  if (lock.headless) session.headless = true;
  if (isShared) disown(session);
  else takeOver(session, pid);
  session.lock = { at, isShared, ...(pid === undefined ? {} : { pid }) };
  if (isNews) session.activeAt = Math.max(session.activeAt, at);
  session.lastSeen = Math.max(session.lastSeen, now);
  return isNews;
}

/** The session is run by a process that is nobody's in particular. */
function disown(session: Session): void {
  if (session.owner === undefined) return;
  session.replaced = [...session.replaced, session.owner].slice(-MAX_REPLACED_PIDS);
  delete session.owner;
}

/** The owner is gone: the session passes to another process that holds it, where one is known. */
export function passOn(session: Session, gone: number, to: number | undefined): void {
  if (session.owner !== gone || to === undefined) return;
  const others = session.replaced.filter((pid) => pid !== to);
  session.replaced = [...others, gone].slice(-MAX_REPLACED_PIDS);
  session.owner = to;
}

/** Takes in a signal that counts. `pid` is the process it came from, where it is known. */
export function takeSignal(
  session: Session,
  signal: Signal,
  at: EpochMs,
  now: EpochMs,
  pid: number | undefined,
): void {
  if (signal.kind === "stated") {
    if (signal.state !== "starting" && signal.state !== "idle") session.prompted = true;
    takeStream(session, {
      state: signal.state,
      at,
      heardAt: now,
      ...(pid === undefined ? {} : { pid }),
    });
    return;
  }
  if (rankOf(signal) === "hint") {
    takeHint(session, signal, at, now);
    return;
  }
  session.activeAt = Math.max(session.activeAt, at);
  if (signal.kind !== "started" && signal.kind !== "turn_ended") session.prompted = true;
  if (signal.kind === "asked" && isMoot(session, signal, now)) return;
  const wasGrowing = session.growth !== undefined && now < session.growth.until;
  const before = session.facts;
  session.facts = applySignal(before, signal, at);
  if (session.facts === before) return;
  session.eventAt = Math.max(session.eventAt ?? 0, at);
  if (signal.kind !== "asked") {
    session.toldAt = Math.max(session.toldAt ?? 0, at);
    noteContradiction(session, at);
  }
  // What grew well after the event is newer than it.
  if (session.growth && session.growth.until - GROWTH_COUNTS_MS - at > ECHO_MS) return;
  if (wasGrowing) session.facts = { ...session.facts, since: at };
  delete session.growth;
}

/**
 * Whether a question is none: an exact source is there to tell of questions; or it is a notice that
 * comes seconds after what it tells of, from an agent that also asks at once.
 */
function isMoot(session: Session, signal: Signal & { kind: "asked" }, now: EpochMs): boolean {
  if (hasLiveStatement(session, now)) return true;
  if (!signal.late) {
    if (signal.tool !== undefined) session.asksAtOnce = true;
    return false;
  }
  if (signal.wait === "permission") return session.asksAtOnce;
  const { subagents, background } = session.facts;
  return subagents.length + background > 0; // it waits for these, not for the user
}

/** The session is over, as far as is known at `at`. */
export function close(session: Session, at: EpochMs): void {
  session.endedAt = at;
  delete session.growth;
  delete session.stream;
}

/** An ended session goes on: what was known of its doings is history. */
export function revive(session: Session, at: EpochMs): void {
  session.facts = { ...restingFacts(at), at: Math.min(session.endedAt ?? at, at) };
  delete session.endedAt;
  delete session.toldAt;
  delete session.growth;
  delete session.stream;
}

function takeHint(session: Session, signal: Signal, at: EpochMs, now: EpochMs): void {
  if (signal.kind === "refreshed") return;
  session.prompted = true; // the transcript appears with the first prompt
  if (signal.kind === "discovered") return;
  session.activeAt = Math.max(session.activeAt, at);
  const isEcho = session.eventAt !== undefined && at - session.eventAt <= ECHO_MS;
  if (isEcho || hasLiveStatement(session, now)) return;
  const since = session.growth && at < session.growth.until ? session.growth.at : at;
  const until = Math.max(session.growth?.until ?? 0, at + GROWTH_COUNTS_MS);
  session.growth = { at: since, until };
}

function takeStream(
  session: Session,
  told: Statement & { state: NonNullable<Statement["state"]> },
): void {
  const held = session.stream;
  if (held && told.at < held.at) return;
  const isHeartbeat = held?.state === told.state;
  if (!isHeartbeat) session.activeAt = Math.max(session.activeAt, told.at);
  session.stream = isHeartbeat ? { ...told, at: held.at } : told;
  delete session.growth;
  if (told.state === "ended") return;
  session.facts = applyStatement(session.facts, { state: told.state, background: 0, at: told.at });
}

/** Takes in a process record of a live process that names this session. */
export function takeRecord(session: Session, record: ProcessRecord, now: EpochMs): void {
  const at = Math.min(record.statusAt, now);
  const held = session.records.get(record.pid);
  const state = record.state ?? held?.state;
  const isSame = record.state === undefined || (held?.state === state && held?.at === at);
  const statement: Statement = {
    ...(state === undefined ? {} : { state }),
    at: record.state === undefined ? (held?.at ?? at) : at,
    heardAt: now,
    pid: record.pid,
    interactive: record.interactive,
  };
  session.records.set(record.pid, statement);
  if (record.headless) session.headless = true;
  if (record.transcriptPath !== undefined) session.prompted = true;
  if (isSame && held?.contradictedAt !== undefined) statement.contradictedAt = held.contradictedAt;
  if (record.state === undefined) return;
  if (record.state !== "idle" || record.background) session.prompted = true;
  delete session.growth;
  const background = record.background ?? 0;
  session.facts = applyStatement(session.facts, { state: record.state, background, at });
  if (!isSame && isContradicted(session, statement)) {
    statement.contradictedAt = session.toldAt ?? at;
  }
}

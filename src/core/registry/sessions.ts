import { MAX_SESSIONS, SESSION_TTL_MS } from "../protocol/limits.ts";
import type { AgentEvent, ProcessRecord } from "../protocol/report.ts";
import type { Ending, Entry, LastEvent, Sighting, WindowReport } from "../protocol/session.ts";
import type { EpochMs } from "../protocol/time.ts";
import { rewind, settle, turningPoints } from "./ageing.ts";
import { Ends } from "./ends.ts";
import { compareEntries, entryOf, stateNow, visiblePart } from "./entry.ts";
import { fill, fillRecord, revive, takeOver, takeRecord, takeSignal } from "./intake.ts";
import {
  type CurrentSessions,
  currentSessions,
  dropAt,
  hasOtherHolder,
  isHeld,
  longestSilent,
  type PidCheck,
  Processes,
} from "./liveness.ts";
import { tidyPath } from "./paths.ts";
import { newSession, type Session } from "./session.ts";
import { rankOf, signalOf } from "./signal.ts";
import { lowestAbove, Windows } from "./windows.ts";

/** Places whose links were followed; more than sessions and windows name at once. */
const MAX_PLACES = 4096;

/**
 * The sessions of one machine and what each of them is doing.
 *
 * Pure: every method is told the time, and nothing here reads a clock, a file or a process. Methods
 * that change something return whether a reader can see it; reads change nothing.
 */
export class Sessions {
  readonly #sessions = new Map<string, Session>();
  readonly #windows = new Windows();
  readonly #processes = new Processes();
  readonly #ends = new Ends();
  readonly #places = new Map<string, string>();
  #latest: EpochMs = 0;

  /**
   * Takes in one sighting.
   *
   * @param at  the time of its evidence; without it, its arrival counts.
   */
  observe(sighting: Sighting, now: EpochMs, at: EpochMs = now): boolean {
    const { session_id, agent = "claude", event, pid, ...fields } = sighting;
    const signals = [signalOf(event)];
    return this.event(
      { sessionId: session_id, agent, event, signals, fields, ...(pid ? { pid } : {}) },
      now,
      at,
    );
  }

  /** Takes in one event of an agent; `observe` is the same for what the wire can say. */
  event(told: AgentEvent, now: EpochMs, at: EpochMs = now): boolean {
    this.#tick(now);
    const { sessionId, signals, pid } = told;
    const seenAt = Math.min(at, now);
    const isHint = signals.every((signal) => rankOf(signal) === "hint");
    const held = this.#find(sessionId, now);
    if (!held && this.#ends.isOver(sessionId, seenAt, isHint)) return false;
    if (!held && now - seenAt >= SESSION_TTL_MS) return false;
    const session = held ?? this.#add(sessionId, told.agent, seenAt, told.event);

    const isStraggler =
      pid !== undefined && session.replaced.includes(pid) && !this.#processes.isConfirmed(pid);
    const isBack = session.endedAt === undefined || (!isHint && seenAt >= session.endedAt);
    let left = false;
    fill(session, told.fields, seenAt);
    if (told.headless) session.headless = true;
    if (!isStraggler && isBack) {
      if (session.endedAt !== undefined) revive(session, seenAt);
      takeOver(session, pid);
      for (const signal of signals) {
        takeSignal(session, signal, seenAt, now, pid);
        const isEnd = signal.kind === "stated" && signal.state === "ended";
        if (isEnd && seenAt >= session.facts.at) this.#close(session, seenAt);
        if (signal.kind === "started" && signal.replaces)
          left = this.#replace(session, now) || left;
      }
    }
    this.#seen(session, told.event, seenAt);
    return this.#touchOwned(session, now) || left;
  }

  /**
   * Ends a session. Ignored when it comes from a process that another one replaced, or while
   * another live process is known to hold the session.
   */
  end(ending: Ending, now: EpochMs, at: EpochMs = now): { ended: boolean; changed: boolean } {
    this.#tick(now);
    const session = this.#find(ending.session_id, now);
    const { pid } = ending;
    if (!session) {
      this.#ends.remember(ending.session_id, now);
      return { ended: false, changed: false };
    }
    const endedAt = Math.min(at, now);
    const isReplaced = pid !== undefined && session.replaced.includes(pid);
    const isElsewhere =
      pid !== undefined && [...session.records.keys()].some((other) => other !== pid);
    const isOld = endedAt < session.facts.at;
    if (isReplaced || isElsewhere || isOld || session.endedAt !== undefined)
      return { ended: false, changed: false };
    this.#close(session, endedAt);
    this.#seen(session, "session_end", endedAt);
    return { ended: true, changed: this.#touchOwned(session, now) };
  }

  /** Takes in the record of a process that was just seen alive with the record's start token. */
  record(record: ProcessRecord, now: EpochMs): boolean {
    this.#tick(now);
    const at = Math.min(record.statusAt, now);
    this.#processes.confirm(record.pid, record.startToken);
    const left = this.#leave(record, at, now);
    const event = { process_record: record.word };
    const startedAt = Math.min(record.startedAt, now);
    const session =
      this.#find(record.sessionId, now) ??
      this.#add(record.sessionId, record.agent, startedAt, event);
    if (session.endedAt !== undefined && at > session.endedAt) revive(session, at);
    const isNews = session.records.get(record.pid)?.at !== at;
    fillRecord(session, record, now);
    takeOver(session, record.pid);
    takeRecord(session, record, now);
    if (isNews) session.activeAt = Math.max(session.activeAt, at);
    this.#seen(session, event, at);
    return this.#touchOwned(session, now) || left;
  }

  /** A record no longer speaks; when its owner removed it, the session ends unless others hold it. */
  recordGone(pid: number, how: "removed" | "lost", now: EpochMs): boolean {
    this.#tick(now);
    let changed = false;
    for (const session of this.#sessions.values()) {
      if (!session.records.delete(pid)) continue;
      const isOver = how === "removed" && !hasOtherHolder(session, pid, now, this.#processes);
      if (isOver && session.endedAt === undefined) this.#close(session, now);
      changed = this.#touch(session, now) || changed;
    }
    return changed;
  }

  /**
   * A record was found whose process is gone: the session it names is over, unless something alive
   * holds it or events came since.
   *
   * @param at  when the record last moved.
   */
  recordStale(sessionId: string, pid: number, at: EpochMs, now: EpochMs): boolean {
    this.#tick(now);
    const session = this.#find(sessionId, now);
    if (!session) {
      this.#ends.remember(sessionId, now);
      return false;
    }
    const hasNews = session.eventAt !== undefined && session.eventAt > at;
    if (hasNews || hasOtherHolder(session, pid, now, this.#processes)) return false;
    return session.endedAt === undefined && this.#drop(session, now);
  }

  /** Takes in one look at the process table; a pid that could not be checked is not in it. */
  look(checks: ReadonlyMap<number, PidCheck>, now: EpochMs): boolean {
    this.#tick(now);
    let changed = false;
    for (const pid of this.#processes.look(checks, now)) changed = this.#bury(pid, now) || changed;
    this.#processes.keepOnly(new Set(this.pids()));
    return this.advance(now) || changed;
  }

  /** The pids whose processes matter: owners, and those that still may hold a session too. */
  pids(): number[] {
    const pids = new Set<number>();
    for (const session of this.#sessions.values()) {
      if (session.endedAt !== undefined) continue;
      if (session.owner !== undefined) pids.add(session.owner);
      for (const pid of session.replaced) pids.add(pid);
      for (const pid of session.records.keys()) pids.add(pid);
    }
    return [...pids];
  }

  window(report: WindowReport, now: EpochMs): boolean {
    this.#tick(now);
    this.#windows.report(report, now);
    return this.#touchAll(now);
  }

  windowUnregister(key: string, now: EpochMs): { removed: boolean; changed: boolean } {
    this.#tick(now);
    const removed = this.#windows.remove(key);
    return { removed, changed: removed && this.#touchAll(now) };
  }

  /** Every folder whose links and repository are worth knowing. */
  folders(): { cwds: Set<string>; folders: Set<string> } {
    const cwds = [...this.#sessions.values()].flatMap(({ cwd }) =>
      cwd === undefined ? [] : [cwd],
    );
    return { cwds: new Set(cwds), folders: new Set(this.#windows.folders()) };
  }

  /**
   * Takes in what was found out about a folder: `real` is its path with links followed, `repo` the
   * name of its repository, null for certainly none; what is left out is not known and changes nothing.
   */
  place(path: string, found: { real?: string; repo?: string | null }, now: EpochMs): boolean {
    this.#tick(now);
    if (found.real !== undefined) {
      if (this.#places.size >= MAX_PLACES) this.#places.clear();
      this.#places.set(tidyPath(path), tidyPath(found.real));
    }
    if (found.repo !== undefined) {
      for (const session of this.#sessions.values()) {
        if (session.cwd !== path || session.repoReported) continue;
        if (found.repo === null) delete session.repo;
        else session.repo = found.repo;
      }
    }
    return this.#touchAll(now);
  }

  /** What readers are shown at `now`. */
  list(now: EpochMs): Entry[] {
    const entries: Entry[] = [];
    const current = this.#current();
    for (const session of this.#sessions.values()) {
      if (!this.#isGone(session, now, current)) entries.push(this.#entry(session, now));
    }
    return entries.sort(compareEntries);
  }

  /** Lets time pass: drops what aged out, and hands over from sources that fell silent. */
  advance(now: EpochMs): boolean {
    this.#tick(now);
    this.#windows.expire(now);
    this.#ends.expire(now);
    let changed = false;
    const current = this.#current();
    for (const session of [...this.#sessions.values()]) {
      if (this.#isGone(session, now, current)) changed = this.#drop(session, now) || changed;
      else settle(session, now);
    }
    return this.#touchAll(now) || changed;
  }

  /** When `advance` will next have something to do, as far as is known now. */
  nextDeadline(): EpochMs | undefined {
    const current = this.#current();
    const latest = this.#latest;
    const times: EpochMs[] = [];
    for (const session of this.#sessions.values()) {
      times.push(...turningPoints(session));
      const drop = dropAt(session);
      const mayAge = session.endedAt === undefined && drop <= this.#processes.ageingNow(drop);
      if (mayAge && !isHeld(session, latest, this.#processes, current)) times.push(drop);
    }
    const window = this.#windows.nextDeadline(latest);
    return lowestAbove(window === undefined ? times : [...times, window], latest);
  }

  #entry(session: Session, now: EpochMs): Entry {
    const resolve = (path: string) => this.#places.get(path) ?? path;
    return entryOf(session, now, this.#windows.sourceOf(session.cwd, now, resolve));
  }

  #isGone(session: Session, now: EpochMs, current: CurrentSessions): boolean {
    if (session.endedAt !== undefined) return now >= dropAt(session) && session.records.size === 0;
    if (isHeld(session, now, this.#processes, current)) return false;
    return this.#processes.ageingNow(now) >= dropAt(session);
  }

  #add(id: string, agent: string, at: EpochMs, event: LastEvent): Session {
    if (this.#sessions.size >= MAX_SESSIONS) {
      const silent = longestSilent(this.#sessions.values(), this.#latest, this.#processes);
      if (silent) this.#sessions.delete(silent.id);
    }
    const session = newSession(id, agent, at, event);
    this.#sessions.set(id, session);
    this.#ends.forget(id);
    return session;
  }

  #seen(session: Session, event: LastEvent, at: EpochMs): void {
    if (at >= session.lastSeen) session.lastEvent = event;
    session.lastSeen = Math.max(session.lastSeen, at);
  }

  #close(session: Session, at: EpochMs): void {
    session.endedAt = at;
    delete session.growth;
    delete session.stream;
  }

  #drop(session: Session, now: EpochMs): boolean {
    this.#sessions.delete(session.id);
    this.#ends.remember(session.id, session.endedAt ?? now);
    return session.shown !== "";
  }

  /**
   * A record says which session its process is in: the ones it was in before go at once, unless
   * others hold them or something newer than the record tells of them.
   */
  #leave(record: ProcessRecord, at: EpochMs, now: EpochMs): boolean {
    const { pid, sessionId } = record;
    let changed = false;
    for (const session of [...this.#sessions.values()]) {
      if (session.id === sessionId) continue;
      const wasRecorded = session.records.delete(pid);
      if (session.activeAt < at) session.replaced = session.replaced.filter((old) => old !== pid);
      if (!wasRecorded && (session.owner !== pid || session.activeAt >= at)) continue;
      const isHeldElsewhere = hasOtherHolder(session, pid, now, this.#processes);
      changed = (isHeldElsewhere ? this.#touch(session, now) : this.#drop(session, now)) || changed;
    }
    return changed;
  }

  /** The process left its other sessions for this one. */
  #replace(by: Session, now: EpochMs): boolean {
    let changed = false;
    for (const session of [...this.#sessions.values()]) {
      if (session === by || session.owner !== by.owner || by.owner === undefined) continue;
      if (hasOtherHolder(session, by.owner, now, this.#processes)) continue;
      changed = this.#drop(session, now) || changed;
    }
    return changed;
  }

  /** The process died: what it ran is over and goes at once, unless others hold it. */
  #bury(pid: number, now: EpochMs): boolean {
    let changed = false;
    for (const session of [...this.#sessions.values()]) {
      const wasRecorded = session.records.delete(pid);
      if (session.stream?.pid === pid) delete session.stream;
      if (session.owner !== pid && !wasRecorded) continue;
      const isListed =
        session.endedAt !== undefined || hasOtherHolder(session, pid, now, this.#processes);
      changed = (isListed ? this.#touch(session, now) : this.#drop(session, now)) || changed;
    }
    return changed;
  }

  #current(): CurrentSessions {
    return currentSessions(() => this.#sessions.values());
  }

  /** A session that is still listed; one that aged out since the last look is let go first. */
  #find(id: string, now: EpochMs): Session | undefined {
    const session = this.#sessions.get(id);
    if (!session || !this.#isGone(session, now, this.#current())) return session;
    this.#drop(session, now);
    return undefined;
  }

  /** Works out what a reader sees of a session; whether that is other than what was last told. */
  #touch(session: Session, now: EpochMs, current = this.#current()): boolean {
    const { state, since } = stateNow(session, now);
    session.state = state;
    session.since = since;
    const isGone = this.#isGone(session, now, current);
    const shown = isGone ? "" : visiblePart(this.#entry(session, now));
    const changed = shown !== session.shown;
    session.shown = shown;
    return changed;
  }

  /** The same for a session and those that its process held before. */
  #touchOwned(session: Session, now: EpochMs): boolean {
    const current = this.#current();
    let changed = this.#touch(session, now, current);
    for (const other of this.#sessions.values()) {
      if (other === session || session.owner === undefined || other.owner !== session.owner)
        continue;
      changed = this.#touch(other, now, current) || changed;
    }
    return changed;
  }

  #touchAll(now: EpochMs): boolean {
    const current = this.#current();
    let changed = false;
    for (const session of this.#sessions.values())
      changed = this.#touch(session, now, current) || changed;
    return changed;
  }

  /** Notices a clock that went back: nothing that is held may then lie in the future. */
  #tick(now: EpochMs): void {
    if (now < this.#latest) {
      for (const session of this.#sessions.values()) rewind(session, now);
      this.#ends.rewind(now);
      this.#windows.rewind(now);
      this.#processes.rewind(now);
    }
    this.#latest = now;
  }
}

import type { Explanation } from "../protocol/explanation.ts";
import { SESSION_TTL_MS } from "../protocol/limits.ts";
import type { AgentEvent, ProcessRecord, SessionLock } from "../protocol/report.ts";
import type { Ending, Entry, LastEvent, Sighting, WindowReport } from "../protocol/session.ts";
import type { EpochMs } from "../protocol/time.ts";
import { settle, turningPoints } from "./ageing.ts";
import { compareEntries, entryOf } from "./entry.ts";
import { decide } from "./evidence.ts";
import { explain } from "./explain.ts";
import { Holders } from "./holders.ts";
import {
  close,
  fill,
  fillRecord,
  revive,
  takeLock,
  takeOver,
  takeRecord,
  takeSignal,
} from "./intake.ts";
import { dropAt, isHeld, otherHolder, type PidCheck } from "./liveness.ts";
import { tidyPath } from "./paths.ts";
import { Rows } from "./rows.ts";
import type { Session } from "./session.ts";
import { rankOf, signalOf } from "./signal.ts";
import type { Shown } from "./traces.ts";
import { lowestAbove, Windows } from "./windows.ts";

/**
 * The sessions of one machine and what each of them is doing.
 *
 * Pure: every method is told the time, and nothing here reads a clock, a file or a process. Methods
 * that change something return whether a reader can see it; reads change nothing.
 */
export class Sessions {
  readonly #windows = new Windows();
  readonly #rows = new Rows((session, now) => this.#entryOf(session, now));
  readonly #holders = new Holders(this.#rows);
  #latest: EpochMs = 0;

  /**
   * Takes in one sighting.
   *
   * @param at  the time of its evidence; without it, its arrival counts.
   */
  observe(sighting: Sighting, now: EpochMs, at: EpochMs = now): boolean {
    const { session_id, agent = "claude", event, pid, headless = false, ...fields } = sighting;
    const signals = [signalOf(event)];
    return this.event(
      { sessionId: session_id, agent, event, signals, fields, headless, ...(pid ? { pid } : {}) },
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
    const held = this.#rows.find(sessionId);
    const heldBy = held?.owner;
    if (!held && this.#rows.ends.isOver(sessionId, seenAt, isHint)) return false;
    if (!held && now - seenAt >= SESSION_TTL_MS) return false;
    const session = held ?? this.#rows.add(sessionId, told.agent, seenAt, told.event, now);
    if (!held) this.#holders.recall(session, now);

    const isStraggler =
      pid !== undefined && session.replaced.includes(pid) && !this.#rows.processes.isConfirmed(pid);
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
        if (isEnd && seenAt >= session.facts.at) close(session, seenAt);
        if (signal.kind === "started" && signal.replaces)
          left = this.#holders.replace(session, now) || left;
      }
    }
    noteSeen(session, told.event, seenAt);
    const isSameOwner = session.owner === heldBy && !left;
    return isSameOwner ? this.#rows.touchOwned(session, now) : this.#rows.touchAll(now) || left;
  }

  /**
   * Ends a session. Ignored when it comes from a process that another one replaced, or while
   * another live process is known to hold the session.
   */
  end(ending: Ending, now: EpochMs, at: EpochMs = now): { ended: boolean; changed: boolean } {
    this.#tick(now);
    const session = this.#rows.find(ending.session_id);
    const { pid } = ending;
    if (!session) {
      this.#rows.ends.remember(ending.session_id, Math.min(at, now));
      return { ended: false, changed: false };
    }
    const endedAt = Math.min(at, now);
    const isReplaced = pid !== undefined && session.replaced.includes(pid);
    const isElsewhere =
      pid !== undefined && [...session.records.keys()].some((other) => other !== pid);
    const isOld = endedAt < session.facts.at;
    if (isReplaced || isElsewhere || isOld || session.endedAt !== undefined)
      return { ended: false, changed: false };
    close(session, endedAt);
    settle(session, now);
    noteSeen(session, "session_end", endedAt);
    return { ended: true, changed: this.#rows.touchAll(now) };
  }

  /** Takes in the record of a process that was just seen alive with the record's start token. */
  record(record: ProcessRecord, now: EpochMs): boolean {
    this.#tick(now);
    const at = Math.min(record.statusAt, now);
    this.#rows.processes.confirm(record.pid, record.startToken);
    const left = this.#holders.leave(record, at, now);
    const event = { process_record: record.word };
    const startedAt = Math.min(record.startedAt, now);
    const held = this.#rows.find(record.sessionId);
    const session = held ?? this.#rows.add(record.sessionId, record.agent, startedAt, event, now);
    if (!held) this.#holders.recall(session, now);
    this.#holders.records.set(record.pid, record);
    const isBack = session.endedAt !== undefined && at > session.endedAt;
    if (isBack) revive(session, at);
    if (record.isStarting && (isBack || !held))
      session.facts = { ...session.facts, phase: "starting" };
    const isNews = session.records.get(record.pid)?.at !== at;
    fillRecord(session, record, now);
    takeOver(session, record.pid);
    takeRecord(session, record, now);
    if (isNews) session.activeAt = Math.max(session.activeAt, at);
    noteSeen(session, event, at);
    return this.#rows.touchAll(now) || left;
  }

  /** A record no longer speaks; when its owner removed it, the session ends unless others hold it. */
  recordGone(pid: number, how: "removed" | "lost", now: EpochMs): boolean {
    this.#tick(now);
    this.#holders.records.delete(pid);
    let changed = false;
    for (const session of this.#rows) {
      if (!session.records.delete(pid)) continue;
      const isOwners = session.owner === pid && session.endedAt === undefined;
      const isOver = how === "removed" && isOwners;
      if (isOver && !otherHolder(session, pid, now, this.#rows.processes)) close(session, now);
      changed = this.#rows.touch(session, now) || changed;
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
    const session = this.#rows.find(sessionId);
    if (!session) {
      this.#rows.ends.remember(sessionId, now);
      return false;
    }
    const hasNews = session.eventAt !== undefined && session.eventAt > at;
    if (hasNews || otherHolder(session, pid, now, this.#rows.processes)) return false;
    return session.endedAt === undefined && this.#rows.drop(session, now);
  }

  /** The source of a session's exact state is no longer heard: the events kept meanwhile take over. */
  streamLost(sessionId: string, now: EpochMs): boolean {
    this.#tick(now);
    const session = this.#rows.find(sessionId);
    if (!session?.stream) return false;
    delete session.stream;
    return this.#rows.touchAll(now);
  }

  /** Takes in that a process has a session open, or still has it. */
  lock(told: SessionLock, now: EpochMs): boolean {
    this.#tick(now);
    const lock = { ...told, at: Math.min(told.at, now) };
    const { sessionId, agent, at, pid } = lock;
    const held = this.#rows.find(sessionId);
    if (!held && (this.#rows.ends.isOver(sessionId, at, false) || this.#holders.hasMoved(pid, at)))
      return false;
    const startedAt = Math.min(lock.startedAt ?? at, now);
    const session = held ?? this.#rows.add(sessionId, agent, at, "transcript_discovered", now);
    // When a thread was made says nothing of how long it has rested.
    if (!held) session.startedAt = startedAt;
    if (session.endedAt !== undefined && at > session.endedAt) revive(session, at);
    const isNews = takeLock(session, lock, now);
    const left = isNews && this.#holders.replace(session, now, at);
    return this.#rows.touchAll(now) || left;
  }

  /** A session's lock is free: it is over, unless something else alive holds it. */
  lockFreed(sessionId: string, now: EpochMs): boolean {
    this.#tick(now);
    const session = this.#rows.find(sessionId);
    if (!session?.lock) return false;
    const { pid = session.owner } = session.lock;
    delete session.lock;
    const isOver =
      session.endedAt === undefined && !otherHolder(session, pid, now, this.#rows.processes);
    if (isOver) {
      close(session, now);
      noteSeen(session, "session_end", now);
    }
    return this.#rows.touchAll(now);
  }

  /** Takes in one look at the process table; a pid that could not be checked is not in it. */
  look(checks: ReadonlyMap<number, PidCheck>, now: EpochMs): boolean {
    this.#tick(now);
    const dead = this.#rows.processes.look(checks, now);
    // What the dead said counts for nobody, before it is asked who else holds a session.
    for (const pid of dead) this.#holders.silence(pid);
    let changed = false;
    for (const record of this.#holders.missing(now)) {
      if (!this.#rows.isFull()) changed = this.record(record, now) || changed;
    }
    for (const pid of dead) changed = this.#holders.bury(pid, now) || changed;
    this.#rows.processes.keepOnly(new Set(this.pids()));
    return this.advance(now) || changed;
  }

  /** The pids whose processes matter: owners, and those that still may hold a session too. */
  pids(): number[] {
    const pids = new Set<number>(this.#holders.records.keys());
    for (const session of this.#rows) {
      if (session.endedAt !== undefined) continue;
      if (session.owner !== undefined) pids.add(session.owner);
      for (const pid of session.replaced) pids.add(pid);
    }
    return [...pids];
  }

  window(report: WindowReport, now: EpochMs): boolean {
    this.#tick(now);
    this.#windows.report(report, now);
    return this.#rows.touchAll(now);
  }

  windowUnregister(key: string, now: EpochMs): { removed: boolean; changed: boolean } {
    this.#tick(now);
    const removed = this.#windows.remove(key);
    return { removed, changed: removed && this.#rows.touchAll(now) };
  }

  /** Every folder whose links and repository are worth knowing. */
  folders(): { cwds: Set<string>; folders: Set<string> } {
    const cwds = [...this.#rows].flatMap(({ cwd }) => (cwd === undefined ? [] : [cwd]));
    return { cwds: new Set(cwds), folders: new Set(this.#windows.folders()) };
  }

  /**
   * Takes in what was found out about a folder: `real` is its path with links followed, `repo` the
   * name of its repository, null for certainly none; what is left out is not known and changes nothing.
   */
  place(path: string, found: { real?: string; repo?: string | null }, now: EpochMs): boolean {
    this.#tick(now);
    if (found.real !== undefined) this.#windows.follow(path, found.real);
    const isOpen = this.#windows.folders().includes(tidyPath(path));
    let changed = false;
    for (const session of this.#rows) {
      const isThere = session.cwd === path;
      if (isThere && !session.repoReported) setRepo(session, found.repo);
      if (isThere || isOpen) changed = this.#rows.touch(session, now) || changed;
    }
    return changed;
  }

  /** What readers are shown at `now`. */
  list(now: EpochMs): Entry[] {
    const entries: Entry[] = [];
    const current = this.#rows.current();
    for (const session of this.#rows) {
      if (!this.#rows.isGone(session, now, current)) entries.push(this.#entryOf(session, now));
    }
    return entries.sort(compareEntries);
  }

  /** What a session shows, and by which evidence; undefined while it is not listed. */
  shown(id: string, now: EpochMs): Shown {
    const session = this.#rows.find(id);
    if (!session || this.#rows.isGone(session, now, this.#rows.current())) return undefined;
    const { state, by } = decide(session, now);
    return { state, by };
  }

  /** Why a session shows what it shows; undefined when it is not listed. */
  explain(id: string, now: EpochMs): Omit<Explanation, "sightings"> | undefined {
    const session = this.#rows.find(id);
    const current = this.#rows.current();
    if (!session || this.#rows.isGone(session, now, current)) return undefined;
    const { processes } = this.#rows;
    return explain(session, this.#entryOf(session, now), now, { processes, current });
  }

  /** Lets time pass: drops what aged out, and hands over from sources that fell silent. */
  advance(now: EpochMs): boolean {
    this.#tick(now);
    this.#windows.expire(now);
    this.#rows.ends.expire(now);
    const untold = this.#rows.takeUntold();
    return this.#rows.touchAll(now) || untold;
  }

  /** When `advance` will next have something to do, as far as is known now. */
  nextDeadline(): EpochMs | undefined {
    const current = this.#rows.current();
    const latest = this.#latest;
    const times: EpochMs[] = [];
    for (const session of this.#rows) {
      times.push(...turningPoints(session));
      const drop = dropAt(session);
      const mayAge = session.endedAt === undefined && drop <= this.#rows.processes.ageingNow(drop);
      if (mayAge && !isHeld(session, latest, this.#rows.processes, current)) times.push(drop);
    }
    const window = this.#windows.nextDeadline(latest);
    return lowestAbove(window === undefined ? times : [...times, window], latest);
  }

  #entryOf(session: Session, now: EpochMs): Entry {
    return entryOf(session, now, this.#windows.sourceOf(session.cwd, now));
  }

  /**
   * Comes before anything that is told at `now`. When the clock went back, nothing that is held may
   * lie in the future; and what has aged out by then is gone, whatever is told next.
   */
  #tick(now: EpochMs): void {
    if (now < this.#latest) {
      this.#rows.rewind(now);
      this.#windows.rewind(now);
    }
    this.#latest = now;
    for (const session of this.#rows) settle(session, now);
    this.#rows.sweep(now);
  }
}

/** Notes a repository that was looked up: null for certainly none, undefined for not known. */
function setRepo(session: Session, repo: string | null | undefined): void {
  if (repo === null) delete session.repo;
  else if (repo !== undefined) session.repo = repo;
}

function noteSeen(session: Session, event: LastEvent, at: EpochMs): void {
  if (at >= session.lastSeen) session.lastEvent = event;
  session.lastSeen = Math.max(session.lastSeen, at);
}

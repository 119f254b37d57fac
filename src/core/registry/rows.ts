import { MAX_SESSIONS } from "../protocol/limits.ts";
import type { Entry, LastEvent } from "../protocol/session.ts";
import type { EpochMs } from "../protocol/time.ts";
import { rewind } from "./ageing.ts";
import { Ends } from "./ends.ts";
import { stateNow, visiblePart } from "./entry.ts";
import {
  type CurrentSessions,
  currentSessions,
  dropAt,
  isHeld,
  isOpen,
  longestSilent,
  Processes,
} from "./liveness.ts";
import { newSession, type Session } from "./session.ts";

/** Which sessions there are, and what readers were last told of each. */
export class Rows {
  readonly processes = new Processes();
  readonly ends = new Ends();
  readonly #sessions = new Map<string, Session>();
  #untold = false;
  readonly #entryOf: (session: Session, now: EpochMs) => Entry;

  constructor(entryOf: (session: Session, now: EpochMs) => Entry) {
    this.#entryOf = entryOf;
  }

  [Symbol.iterator](): IterableIterator<Session> {
    return this.#sessions.values();
  }

  /** For one look at all of them: which session each process is in. */
  current(): CurrentSessions {
    return currentSessions(() => this.#sessions.values());
  }

  find(id: string): Session | undefined {
    return this.#sessions.get(id);
  }

  /** Lets go of what aged out: once gone, nothing but a new sighting brings a session back. */
  sweep(now: EpochMs): void {
    const current = this.current();
    // All are judged before any goes: one that goes must not hand its process to another.
    const gone = [...this].filter((session) => this.isGone(session, now, current));
    for (const session of gone) {
      this.#untold = this.drop(session, session.endedAt) || this.#untold;
    }
  }

  /** Whether sessions that readers were told of have gone since this was last asked. */
  takeUntold(): boolean {
    const untold = this.#untold;
    this.#untold = false;
    return untold;
  }

  isFull(): boolean {
    return this.#sessions.size >= MAX_SESSIONS;
  }

  add(id: string, agent: string, at: EpochMs, event: LastEvent, now: EpochMs): Session {
    if (this.isFull()) {
      const silent = longestSilent(this.#sessions.values(), now, this.processes);
      if (silent) this.#sessions.delete(silent.id);
    }
    const session = newSession(id, agent, at, event);
    this.#sessions.set(id, session);
    return session;
  }

  /**
   * Forgets a session. Returns whether readers had it before them.
   *
   * @param endedAt  when it ended; one that only aged out may come back with the next sign of life.
   */
  drop(session: Session, endedAt: EpochMs | undefined): boolean {
    this.#sessions.delete(session.id);
    if (endedAt !== undefined) this.ends.remember(session.id, endedAt);
    return session.shown !== "";
  }

  isGone(session: Session, now: EpochMs, current: CurrentSessions): boolean {
    if (session.endedAt !== undefined) return now >= dropAt(session) && !isOpen(session);
    if (isHeld(session, now, this.processes, current)) return false;
    return this.processes.ageingNow(now) >= dropAt(session);
  }

  /** Works out what a reader sees of a session. Returns whether that differs from what was told. */
  touch(session: Session, now: EpochMs, current = this.current()): boolean {
    const { state, since } = stateNow(session, now);
    session.state = state;
    session.since = since;
    const isGone = this.isGone(session, now, current);
    const shown = isGone ? "" : visiblePart(this.#entryOf(session, now));
    const changed = shown !== session.shown;
    session.shown = shown;
    return changed;
  }

  /** The same for a session and those that its process held before. */
  touchOwned(session: Session, now: EpochMs): boolean {
    const { owner } = session;
    const isOwned = (other: Session) => owner !== undefined && other.owner === owner;
    return this.#touchThose((other) => other === session || isOwned(other), now);
  }

  touchAll(now: EpochMs): boolean {
    return this.#touchThose(() => true, now);
  }

  rewind(now: EpochMs): void {
    for (const session of this.#sessions.values()) rewind(session, now);
    this.ends.rewind(now);
    this.processes.rewind(now);
  }

  #touchThose(isMeant: (session: Session) => boolean, now: EpochMs): boolean {
    const current = this.current();
    let changed = false;
    for (const session of this.#sessions.values()) {
      if (isMeant(session)) changed = this.touch(session, now, current) || changed;
    }
    return changed;
  }
}

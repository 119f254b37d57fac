import type { ProcessRecord } from "../protocol/report.ts";
import type { EpochMs } from "../protocol/time.ts";
import { fillRecord, passOn, takeOver, takeRecord } from "./intake.ts";
import { otherHolder } from "./liveness.ts";
import type { Rows } from "./rows.ts";
import type { Session } from "./session.ts";

/** Which process holds which session, and what becomes of a session that its process leaves. */
export class Holders {
  /** What the process of each pid says of itself, also while no row shows it. */
  readonly records = new Map<number, ProcessRecord>();
  readonly #rows: Rows;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  /**
   * A record says which session its process is in: the ones it was in before go at once, unless
   * others hold them or something newer than the record tells of them.
   */
  leave(record: ProcessRecord, at: EpochMs, now: EpochMs): boolean {
    const { pid, sessionId } = record;
    let changed = false;
    for (const session of [...this.#rows]) {
      if (session.id === sessionId) continue;
      const wasRecorded = session.records.delete(pid);
      if (session.activeAt < at) session.replaced = session.replaced.filter((old) => old !== pid);
      if (!wasRecorded && (session.owner !== pid || session.activeAt >= at)) continue;
      changed = this.#passOn(session, pid, now) || changed;
    }
    return changed;
  }

  /** Whether a process is known to have been in some session since `at`. */
  hasMoved(pid: number | undefined, at: EpochMs): boolean {
    if (pid === undefined) return false;
    return [...this.#rows].some(({ owner, activeAt }) => owner === pid && activeAt >= at);
  }

  /** The process left its other sessions for this one, if it was in none of them since `at`. */
  replace(by: Session, now: EpochMs, at = Number.POSITIVE_INFINITY): boolean {
    let changed = false;
    for (const session of [...this.#rows]) {
      if (session === by || session.owner !== by.owner || by.owner === undefined) continue;
      if (session.activeAt >= at) continue;
      if (otherHolder(session, by.owner, now, this.#rows.processes)) continue;
      changed = this.#rows.drop(session, now) || changed;
    }
    return changed;
  }

  /** What says of a session that it runs, while no row shows it: it had to go for want of room. */
  missing(now: EpochMs): ProcessRecord[] {
    return [...this.records.values()].filter((record) => {
      const at = Math.min(record.statusAt, now);
      const isBusy = record.state !== undefined && record.word !== "idle";
      const wasSpokenTo = isBusy || record.transcriptPath !== undefined;
      const isKept = record.interactive || wasSpokenTo;
      const isMissing = !this.#rows.find(record.sessionId) && isKept;
      return isMissing && !this.#rows.ends.isOver(record.sessionId, at, false);
    });
  }

  /** What a process that is gone has said counts for nobody any more. */
  silence(pid: number): void {
    this.records.delete(pid);
    for (const session of this.#rows) {
      session.records.delete(pid);
      if (session.stream?.pid === pid) delete session.stream;
    }
  }

  /** The process died: what it ran is over and goes at once, unless others hold it. */
  bury(pid: number, now: EpochMs): boolean {
    let changed = false;
    for (const session of [...this.#rows]) changed = this.#passOn(session, pid, now) || changed;
    return changed;
  }

  /** A session is back: the records that name it were told before, and may not move for long. */
  recall(session: Session, now: EpochMs): void {
    for (const record of this.records.values()) {
      if (record.sessionId !== session.id) continue;
      fillRecord(session, record, now);
      takeOver(session, record.pid);
      takeRecord(session, record, now);
    }
  }

  /** Its process left a session: who else holds it keeps it, else it goes at once. */
  #passOn(session: Session, pid: number, now: EpochMs): boolean {
    if (session.owner !== pid) return this.#rows.touch(session, now);
    const holder = otherHolder(session, pid, now, this.#rows.processes);
    if (!holder && session.endedAt === undefined) return this.#rows.drop(session, now);
    passOn(session, pid, holder?.pid);
    return this.#rows.touch(session, now);
  }
}

import { ENDED_LINGER_MS, SESSION_TTL_MS } from "../protocol/limits.ts";
import type { EpochMs } from "../protocol/time.ts";
import { isStreamAlive } from "./evidence.ts";
import type { Session } from "./session.ts";

/**
 * Nothing ages out later than this after the last look at the process table: when the machine
 * slept or the clock jumped, the next look comes first.
 */
const LOOK_COVERS_MS = 60_000;

/** What the process table said of a pid: its start token, or that no such process runs. */
export type PidCheck = string | "gone";

/** The processes that this daemon has itself seen alive, by pid, with their start tokens. */
export class Processes {
  readonly #tokens = new Map<number, string>();
  #lookedAt: EpochMs | undefined;

  isConfirmed(pid: number): boolean {
    return this.#tokens.has(pid);
  }

  confirm(pid: number, token: string): void {
    this.#tokens.set(pid, token);
  }

  /**
   * Takes in one look at the process table; a pid that could not be checked is simply not in it.
   *
   * @returns the pids whose process died: seen alive before, and now gone or somebody else's.
   */
  look(checks: ReadonlyMap<number, PidCheck>, now: EpochMs): number[] {
    this.#lookedAt = now;
    const dead: number[] = [];
    for (const [pid, check] of checks) {
      const token = this.#tokens.get(pid);
      if (token === undefined) {
        if (check !== "gone") this.#tokens.set(pid, check);
      } else if (token !== check) {
        this.#tokens.delete(pid);
        dead.push(pid);
      }
    }
    return dead;
  }

  /** Forgets every pid that no session names any more. */
  keepOnly(pids: ReadonlySet<number>): void {
    for (const pid of this.#tokens.keys()) if (!pids.has(pid)) this.#tokens.delete(pid);
  }

  /** The time up to which ageing out may count. */
  ageingNow(now: EpochMs): EpochMs {
    return this.#lookedAt === undefined ? now : Math.min(now, this.#lookedAt + LOOK_COVERS_MS);
  }

  rewind(now: EpochMs): void {
    if (this.#lookedAt !== undefined) this.#lookedAt = Math.min(this.#lookedAt, now);
  }
}

/** For every pid the session that its process is in now; worked out only when somebody asks. */
export type CurrentSessions = () => ReadonlyMap<number, Session>;

/**
 * For every pid the session that its process is in now: the most recently active one. A process
 * that moved on to another session no longer vouches for the one it left.
 */
export function currentSessions(sessions: () => Iterable<Session>): CurrentSessions {
  let known: Map<number, Session> | undefined;
  return () => {
    known ??= mostActive(sessions());
    return known;
  };
}

function mostActive(sessions: Iterable<Session>): Map<number, Session> {
  const current = new Map<number, Session>();
  for (const session of sessions) {
    if (session.owner === undefined || session.endedAt !== undefined) continue;
    const held = current.get(session.owner);
    const isNewer =
      !held ||
      session.activeAt > held.activeAt ||
      (session.activeAt === held.activeAt && session.id > held.id);
    if (isNewer) current.set(session.owner, session);
  }
  return current;
}

/** Whether a process is known to have the session open, whatever was said of its end. */
export const isOpen = ({ records, lock }: Session): boolean =>
  records.size > 0 || lock !== undefined;

/** Whether something alive vouches for the session, so that silence does not age it out. */
export function isHeld(
  session: Session,
  now: EpochMs,
  processes: Processes,
  current: CurrentSessions,
): boolean {
  return !vouchers(session, now, processes, current).next().done;
}

/** What vouches for a session while it is silent. */
export type Voucher = { by: "stream" | "record" | "lock" | "process"; pid?: number };

export function* vouchers(
  session: Session,
  now: EpochMs,
  processes: Processes,
  current: CurrentSessions,
): Generator<Voucher> {
  const { stream, records, lock, owner, prompted } = session;
  if (stream && isStreamAlive(stream, now)) yield { by: "stream", ...given(stream.pid) };
  for (const [pid, record] of records) {
    if (prompted || record.interactive) yield { by: "record", pid };
  }
  if (lock) yield { by: "lock", ...given(lock.pid) };
  if (owner === undefined || !prompted || !processes.isConfirmed(owner)) return;
  if (current().get(owner) === session) yield { by: "process", pid: owner };
}

const given = (pid: number | undefined) => (pid === undefined ? {} : { pid });

/**
 * Who but `pid` still runs the session: a process whose record names it, or that holds its lock; one
 * that was seen alive; or a live stream, which may not tell its process.
 */
export function otherHolder(
  session: Session,
  pid: number | undefined,
  now: EpochMs,
  processes: Processes,
): { pid?: number } | undefined {
  const { stream, owner, replaced } = session;
  const isOther = (other: number | undefined) => other !== undefined && other !== pid;
  const recorded = [...session.records.keys()].find(isOther);
  if (recorded !== undefined) return { pid: recorded };
  if (session.lock?.isShared) return {};
  if (isOther(session.lock?.pid)) return session.lock;
  const known = [...replaced, ...(owner === undefined ? [] : [owner])];
  const alive = known.findLast((other) => isOther(other) && processes.isConfirmed(other));
  if (alive !== undefined) return { pid: alive };
  const streams = stream && isStreamAlive(stream, now) && (stream.pid ?? owner) !== pid;
  return streams ? {} : undefined;
}

/** When the row goes if nothing more is heard, given that nothing alive vouches for it. */
export function dropAt(session: Session): EpochMs {
  return session.endedAt === undefined
    ? session.lastSeen + SESSION_TTL_MS
    : session.endedAt + ENDED_LINGER_MS;
}

/**
 * The session to give up when there is no room: the longest-silent one, of equals the one with the
 * lowest id. Those that something alive vouches for go last.
 */
export function longestSilent(
  sessions: Iterable<Session>,
  now: EpochMs,
  processes: Processes,
): Session | undefined {
  const all = [...sessions];
  const current = currentSessions(() => all);
  const held = new Set(all.filter((session) => isHeld(session, now, processes, current)));
  const order = (a: Session, b: Session) =>
    Number(held.has(a)) - Number(held.has(b)) || a.lastSeen - b.lastSeen || (a.id < b.id ? -1 : 1);
  return all.sort(order)[0];
}

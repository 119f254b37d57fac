import type { LastEvent, SessionState } from "../protocol/session.ts";
import type { EpochMs } from "../protocol/time.ts";
import { type Facts, restingFacts } from "./facts.ts";

/** What an exact source says right now: a whole statement of the state. */
export type Statement = {
  /** Absent when the source speaks a word that nobody here understands. */
  state?: SessionState;
  /** The time of the evidence: when the state began, as the source has it. */
  at: EpochMs;
  heardAt: EpochMs;
  /** The process that it speaks of. */
  pid?: number;
  /** It has a terminal of its own; see `ProcessRecord`. */
  interactive?: boolean;
  /** Since when events tell otherwise, for a record that has not moved since. */
  contradictedAt?: EpochMs;
};

/** Everything held of one session. Only `Sessions` writes to it. */
export type Session = {
  readonly id: string;
  /** Fixed by the first sighting. */
  readonly agent: string;
  cwd?: string;
  repo?: string;
  /** A reporter named the repository, so nobody needs to look it up. */
  repoReported: boolean;
  transcriptPath?: string;
  model?: string;
  name?: string;
  headless: boolean;

  facts: Facts;
  /** The newest lifecycle event, absent when only hints and statements came. */
  eventAt?: EpochMs;
  /** The newest event that told what it does, not only that somebody was asked. */
  toldAt?: EpochMs;
  /** The agent tells of a question when it asks it, so later notices of it are no news. */
  asksAtOnce: boolean;
  /** Growth that counts as work, until `until`. */
  growth?: { at: EpochMs; until: EpochMs };
  stream?: Statement;
  /** Process records that name this session, by pid: two processes can hold one id. */
  readonly records: Map<number, Statement>;
  /** A process has it open; see `SessionLock`. */
  lock?: { at: EpochMs; pid?: number; isShared: boolean };
  endedAt?: EpochMs;

  /** The process that runs it. */
  owner?: number;
  /** Pids that a later one replaced, oldest first. */
  replaced: number[];
  /** It was spoken to at least once, so its process is not a spare one. */
  prompted: boolean;

  startedAt: EpochMs;
  lastSeen: EpochMs;
  /** The newest evidence that is more than a heartbeat: decides which session a process is in. */
  activeAt: EpochMs;
  lastEvent: LastEvent;

  /** What a reader was last told, and since when that is so. */
  state: SessionState;
  since: EpochMs;
  shown: string;
};

export function newSession(id: string, agent: string, at: EpochMs, lastEvent: LastEvent): Session {
  return {
    id,
    agent,
    repoReported: false,
    headless: false,
    facts: restingFacts(at),
    asksAtOnce: false,
    records: new Map(),
    replaced: [],
    prompted: false,
    startedAt: at,
    lastSeen: at,
    activeAt: at,
    lastEvent,
    state: "idle",
    since: at,
    shown: "",
  };
}

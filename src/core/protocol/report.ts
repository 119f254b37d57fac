import type { Ending, LastEvent, SessionState, Sighting } from "./session.ts";
import type { Signal } from "./signal.ts";
import type { EpochMs } from "./time.ts";

/** An agent's own statement about the session that one of its processes runs right now. */
export type ProcessRecord = {
  agent: string;
  pid: number;
  /** Start time of the process as the process table tells it; with the pid, its identity. */
  startToken: string;
  sessionId: string;
  /** The agent's own status word, whether or not it is understood. */
  word: string;
  /** What the word means; absent when the word is not known. */
  state?: SessionState;
  /** It has no status yet, as in the first moments of a process. */
  isStarting?: true;
  /** When the status last changed. */
  statusAt: EpochMs;
  startedAt: EpochMs;
  /** Background commands that still run, as far as the status tells. */
  background?: number;
  cwd?: string;
  name?: string;
  transcriptPath?: string;
  /** Nobody sits at it: `-p` and SDK runs. */
  headless: boolean;
  /** It has a terminal of its own, so it is somebody's session even before its first prompt. */
  interactive: boolean;
};

/** An event of an agent, with all that its own payload tells. */
export type AgentEvent = {
  sessionId: string;
  agent: string;
  /** The nearest word of the wire, for readers. */
  event: LastEvent;
  /** The agent's own name for it. */
  name?: string;
  /** What it means, in this order. */
  signals: readonly Signal[];
  /** What the payload knows of the session. */
  fields: Pick<Sighting, "cwd" | "transcript_path" | "model">;
  pid?: number;
  /** Nobody sits at it. */
  headless?: boolean;
};

/** A process has a session open, as the lock tells that it holds for it. It says nothing of the state. */
export type SessionLock = {
  sessionId: string;
  agent: string;
  /** Since when it is held, as far as that is known. */
  at: EpochMs;
  /** The process that holds it, where it is in one session at a time. */
  pid?: number;
  /** The process that holds it serves many sessions and outlives them. */
  isShared: boolean;
  startedAt?: EpochMs;
  fields: Pick<Sighting, "cwd" | "transcript_path">;
  headless: boolean;
};

/** What the feeds tell the daemon. */
export type Report =
  | { kind: "sighting"; sighting: Sighting; at?: EpochMs }
  | { kind: "event"; event: AgentEvent; at?: EpochMs }
  | { kind: "end"; ending: Ending; at?: EpochMs }
  /** A process record of a process that lives, verified by pid and start token. */
  | { kind: "record"; record: ProcessRecord }
  /**
   * A process record no longer speaks. `removed`: its owner took it away, the session is over;
   * `lost`: the whole folder went, which says nothing about the process.
   */
  | { kind: "record_gone"; pid: number; how: "removed" | "lost" }
  /** A record was left behind by a process that is gone: what it names is over unless others know better. */
  | { kind: "record_stale"; sessionId: string; pid: number; at: EpochMs }
  /** An exact source that spoke for a session is no longer heard: it says nothing of the session. */
  | { kind: "stream_lost"; sessionId: string }
  | { kind: "lock"; lock: SessionLock }
  /** A lock that was held is free, or its file is gone: the session is over. */
  | { kind: "lock_freed"; sessionId: string };

/** How one feed fares, for `status`: `problem` is in words when something could not be read. */
export type FeedHealth = { feed: string; problem?: string };

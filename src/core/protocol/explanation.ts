import type { Entry } from "./session.ts";

/** The kinds of evidence that a state can come from, in the order in which they are believed. */
export type DecidedBy = "end" | "stream" | "record" | "growth" | "events";

/** What one source says of a session, and what that came to. */
export type SourceView = {
  source: DecidedBy;
  /** Absent when it speaks a word that nobody here understands. */
  says?: string;
  /** RFC 3339: since when it is so, as the source has it. */
  since: string;
  /** Why it is not the one that decides; absent for the one that does. */
  loses?: string;
};

/** What keeps a session listed while it is silent, or until when it is. */
export type Keeper =
  | { by: "stream" | "record" | "lock" | "process"; pid?: number }
  | { by: "ttl" | "linger"; until: string };

/** One thing that was seen of a session, by the name its source has for it; never any content. */
export type TraceLine = {
  at: string;
  source: string;
  event: string;
  /** What it changed; absent for nothing. */
  effect?: string;
  /** How often the same came again, the last time at `at`. */
  times?: number;
};

/** What is known of one session, and why its state is what it is. */
export type Explanation = {
  session: Entry;
  decided_by: DecidedBy;
  /** Every source that speaks for it, in the order in which they are believed. */
  sources: SourceView[];
  kept_by: Keeper[];
  /** The latest that was seen of it, oldest first. */
  sightings: TraceLine[];
};

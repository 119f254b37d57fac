import type { Sessions } from "../../src/core/registry/sessions.ts";

/** Where evidence comes from; a mode of the bench is a set of these. */
export type Source = "hook" | "growth" | "lock" | "record" | "server" | "stream" | "extension";

/** One thing that the captures hold, as the tool would see it. */
export type Step = {
  at: number;
  source: Source;
  /** The session that it is about. */
  session: string;
  /** The process that it comes from, where it tells. */
  pid?: number;
  /** A start, after which nobody has spoken to the session yet. */
  isStart?: boolean;
  /** A prompt: from here on the session is more than started. */
  isPrompt?: boolean;
  /** A notice that the user has not answered for a minute. */
  isIdleNotice?: boolean;
  apply: (sessions: Sessions) => void;
};

/** What is true of a session from a time on: the states that are right to show. */
export type Truth = {
  at: number;
  /** As the agent itself calls it, for people. */
  word: string;
  right: readonly Shown[];
};

/** What the table shows of a session: its state, or that it is not listed. */
export type Shown =
  | "starting"
  | "working"
  | "idle"
  | "waiting_for_input"
  | "waiting_for_permission"
  | "ended"
  | "absent";

/** One run of real agents: all that was seen, and what was true of each session. */
export type Scenario = {
  name: string;
  agent: "claude" | "codex" | "pi";
  steps: Step[];
  truth: Map<string, Truth[]>;
  /** When each process that is known to have gone did so. */
  goneAt: Map<number, number>;
  /** Start tokens, where the captures hold them. */
  tokens: Map<number, string>;
  endAt: number;
};

export const over: readonly Shown[] = ["ended", "absent"];

/** Adds what is true from `at` on, unless it was true before. */
export function addTruth(truths: Map<string, Truth[]>, session: string, truth: Truth): void {
  const held = truths.get(session) ?? [];
  if (held.at(-1)?.word !== truth.word) held.push(truth);
  truths.set(session, held);
}

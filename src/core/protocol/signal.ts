import type { SessionState } from "./session.ts";

/** Which call an event is about: `scope` is a subagent's id, absent for the main conversation. */
export type CallRef = { scope?: string; tool?: string; call?: string };

export type WaitKind = "permission" | "input";

/** What an event means to the engine, whatever the agent calls it. */
export type Signal =
  /** A process took the session up; `replaces` when it left another one of its sessions for it. */
  | { kind: "started"; replaces?: boolean }
  | { kind: "prompted" }
  | ({ kind: "call_started" } & CallRef)
  | ({ kind: "call_ended" } & CallRef)
  /** The user is asked. `late` for a notice that may come long after its question was answered. */
  | ({ kind: "asked"; wait: WaitKind; late?: boolean } & CallRef)
  /** `error` is the word for what ended it; `subagents` and `background` are what goes on running. */
  | { kind: "turn_ended"; error?: string; subagents?: readonly string[]; background?: number }
  | { kind: "subagent_started"; scope: string }
  | { kind: "subagent_ended"; scope: string }
  | { kind: "refreshed" }
  | { kind: "grew" }
  | { kind: "discovered" }
  | { kind: "stated"; state: SessionState };

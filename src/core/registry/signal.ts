import type { SessionEvent } from "../protocol/session.ts";
import type { Signal } from "../protocol/signal.ts";

/** How much a signal may do; the table in docs/adr/0004-one-pure-state-machine.md explains them. */
export type Rank = "exact" | "event" | "hint";

/** Reads an event of the wire. */
export function signalOf(event: SessionEvent): Signal {
  if (typeof event === "object") {
    if ("stream_state" in event) return { kind: "stated", state: event.stream_state };
    switch (event.notification) {
      case "permission_prompt":
        return { kind: "asked", wait: "permission" };
      case "idle_prompt":
      case "agent_needs_input":
        return { kind: "asked", wait: "input" };
      case "other":
        return { kind: "refreshed" };
    }
  }
  switch (event) {
    case "session_start":
      return { kind: "started" };
    case "user_prompt_submit":
      return { kind: "prompted" };
    case "pre_tool_use":
      return { kind: "call_started" };
    case "post_tool_use":
      return { kind: "call_ended" };
    case "stop":
      return { kind: "turn_ended" };
    case "transcript_grew":
      return { kind: "grew" };
    case "transcript_discovered":
      return { kind: "discovered" };
  }
}

export function rankOf(signal: Signal): Rank {
  switch (signal.kind) {
    case "stated":
      return "exact";
    case "started":
    case "prompted":
    case "call_started":
    case "call_ended":
    case "asked":
    case "turn_ended":
    case "subagent_started":
    case "subagent_ended":
      return "event";
    case "refreshed":
    case "grew":
    case "discovered":
      return "hint";
  }
}

import type { LastEvent } from "../../protocol/session.ts";
import type { CallRef, Signal } from "../../protocol/signal.ts";
import { fieldsOf, type HookReport, nameOf, Payload, refOf } from "../hook-payload.ts";

const AGENT = "codex";

/** The tool by which Codex puts a question of its own to the user. */
const QUESTION_TOOL = "request_user_input";

/**
 * Reads the payload of one hook call of Codex.
 *
 * Nothing but ids, names and states is taken from it. A payload without a session and an event that
 * is not known give `undefined`, so that a newer Codex never breaks an older tool.
 * Source: docs/agents/codex.md#hooks, seen in 0.171.0.
 *
 * @param payload  the JSON value that the hook was given on stdin.
 */
export function readCodexHook(payload: unknown): HookReport | undefined {
  const hook = new Payload(payload);
  const sessionId = hook.text("session_id");
  const name = hook.text("hook_event_name");
  if (!sessionId || !name) return undefined;
  const ref = refOf(hook);
  if (name === "SessionEnd" && ref.scope === undefined) {
    const reason = hook.text("reason");
    return { kind: "end", sessionId, agent: AGENT, ...(reason === undefined ? {} : { reason }) };
  }
  const meaning = ref.scope === undefined ? ofMain(name, hook, ref) : ofSubagent(name, ref);
  if (!meaning) return undefined;
  const [event, ...signals] = meaning;
  // A subagent has a rollout and a model of its own, and they are not the session's.
  const fields = ref.scope === undefined ? fieldsOf(hook) : {};
  const told = { sessionId, agent: AGENT, event, name: nameOf(name, hook), signals, fields };
  return { kind: "event", event: told };
}

type Meaning = [LastEvent, ...Signal[]];

const OTHER: Meaning = [{ notification: "other" }, { kind: "refreshed" }];

function ofMain(name: string, hook: Payload, ref: CallRef): Meaning | undefined {
  switch (name) {
    // A process of Codex's is in one thread: whatever it was in before, it has left. (One that
    // serves many threads is not named by the event.) After a compaction it is the same thread.
    case "SessionStart":
      return hook.text("source") === "compact"
        ? OTHER
        : ["session_start", { kind: "started", replaces: true }];
    case "UserPromptSubmit":
      return ["user_prompt_submit", { kind: "prompted" }];
    case "Stop":
    case "Interrupt": // Esc, or an approval that was declined
      return ["stop", { kind: "turn_ended" }];
    default:
      return ofCall(name, ref) ?? quiet(name);
  }
}

/** A subagent asks through its parent; nothing else that it does moves its parent. */
function ofSubagent(name: string, ref: CallRef & { scope?: string }): Meaning | undefined {
  switch (name) {
    case "Stop":
    case "SubagentStop":
    case "Interrupt":
    case "SessionEnd":
      return [{ notification: "other" }, { kind: "subagent_ended", scope: ref.scope ?? "" }];
    case "SessionStart":
    case "UserPromptSubmit": // the prompt is its parent's
      return OTHER;
    default:
      return ofCall(name, ref) ?? quiet(name);
  }
}

function ofCall(name: string, ref: CallRef): Meaning | undefined {
  switch (name) {
    case "PreToolUse": {
      const begun: Signal = { kind: "call_started", ...ref };
      return ref.tool === QUESTION_TOOL
        ? [{ notification: "agent_needs_input" }, begun, { kind: "asked", wait: "input", ...ref }]
        : ["pre_tool_use", begun];
    }
    case "PostToolUse":
      return ["post_tool_use", { kind: "call_ended", ...ref }];
    case "PermissionRequest":
      return [{ notification: "permission_prompt" }, { kind: "asked", wait: "permission", ...ref }];
    default:
      return undefined;
  }
}

/**
 * Events that only tell that the session lives. A subagent that runs on after its parent's turn
 * leaves the parent free for the next prompt: Codex itself calls it idle then.
 */
function quiet(name: string): Meaning | undefined {
  const names = ["SubagentStart", "SubagentStop", "PreCompact", "PostCompact"];
  return names.includes(name) ? OTHER : undefined;
}

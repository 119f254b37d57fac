import type { LastEvent } from "../../protocol/session.ts";
import type { CallRef, Signal } from "../../protocol/signal.ts";
import { fieldsOf, type HookReport, nameOf, Payload, refOf } from "../hook-payload.ts";

/** Tools that put a question to the user themselves: their prompt is no question of permission. */
const QUESTION_TOOLS = new Set(["AskUserQuestion", "ExitPlanMode"]);

/** Stands for the call of an MCP server's question, which has an event but no call id of its own. */
const ELICITATION = "Elicitation";

/**
 * Reads the payload of one hook call of Claude Code, or of a program that runs Claude's hooks.
 *
 * Nothing but ids, names and states is taken from it. A payload without a session and an event that
 * is not known give `undefined`, so that a newer agent never breaks an older tool.
 * Source: docs/agents/claude.md#hooks, seen in 2.1.332.
 *
 * @param payload  the JSON value that the hook was given on stdin.
 * @param agent  who runs the hook; a payload of Grok's is reported as `grok` whatever this says.
 */
export function readHook(payload: unknown, agent = "claude"): HookReport | undefined {
  const hook = new Payload(payload);
  const sessionId = hook.text("session_id");
  const name = hook.text("hook_event_name");
  if (!sessionId || !name) return undefined;
  // Grok's CLI reads Claude's settings and writes its own spelling.
  const who = hook.has("hookEventName") ? "grok" : agent;
  if (name === "SessionEnd") {
    const reason = hook.text("reason");
    return { kind: "end", sessionId, agent: who, ...(reason === undefined ? {} : { reason }) };
  }
  const read = meaningOf(name, hook);
  if (!read) return undefined;
  const [event, ...signals] = read;
  return {
    kind: "event",
    event: {
      sessionId,
      agent: who,
      event,
      name: nameOf(name, hook),
      signals,
      fields: fieldsOf(hook),
    },
  };
}

type Meaning = [LastEvent, ...Signal[]];

const OTHER: Meaning = [{ notification: "other" }, { kind: "refreshed" }];

function meaningOf(name: string, hook: Payload): Meaning | undefined {
  const ref = refOf(hook);
  switch (name) {
    case "SessionStart":
      return sessionStart(hook.text("source"));
    case "UserPromptSubmit":
      return ["user_prompt_submit", { kind: "prompted" }];
    case "PreToolUse":
      return preToolUse(ref);
    case "PostToolUse":
    case "PostToolUseFailure":
    case "PermissionDenied":
      return ["post_tool_use", { kind: "call_ended", ...ref }];
    case "PermissionRequest":
      return QUESTION_TOOLS.has(ref.tool ?? "")
        ? [{ notification: "agent_needs_input" }, { kind: "asked", wait: "input", ...ref }]
        : [{ notification: "permission_prompt" }, { kind: "asked", wait: "permission", ...ref }];
    case "Elicitation":
      return [
        { notification: "agent_needs_input" },
        { kind: "asked", wait: "input", ...ref, tool: ELICITATION },
      ];
    case "ElicitationResult":
      return ["post_tool_use", { kind: "call_ended", ...ref, tool: ELICITATION }];
    case "Notification":
      return notification(hook);
    case "Stop":
    case "StopFailure":
      return stop(name, hook, ref.scope);
    case "SubagentStart":
      return scoped(hook, "subagent_started");
    case "SubagentStop":
      return scoped(hook, "subagent_ended");
    case "PreCompact":
    case "PostCompact":
      return OTHER;
    default:
      return undefined;
  }
}

// A compaction goes on with the session it is in. The others come from a process that starts, or
// that leaves another of its sessions.
function sessionStart(source: string | undefined): Meaning {
  if (source === "compact") return OTHER;
  const replaces = source === "clear" || source === "resume" || source === "fork";
  return ["session_start", { kind: "started", replaces }];
}

function preToolUse(ref: CallRef): Meaning {
  const begun: Signal = { kind: "call_started", ...ref };
  if (!QUESTION_TOOLS.has(ref.tool ?? "")) return ["pre_tool_use", begun];
  return [{ notification: "agent_needs_input" }, begun, { kind: "asked", wait: "input", ...ref }];
}

function notification(hook: Payload): Meaning {
  switch (hook.text("notification_type") ?? typeFromMessage(hook.text("message"))) {
    case "permission_prompt":
      return [
        { notification: "permission_prompt" },
        { kind: "asked", wait: "permission", late: true },
      ];
    case "idle_prompt":
      return [{ notification: "idle_prompt" }, { kind: "asked", wait: "input", late: true }];
    case "elicitation_dialog":
    case "agent_needs_input":
      return [{ notification: "agent_needs_input" }, { kind: "asked", wait: "input", late: true }];
    default:
      return OTHER;
  }
}

/** Versions before 2.1 send no type; their messages are fixed sentences. */
function typeFromMessage(message = ""): string | undefined {
  if (message.includes("permission") || message.includes("approval")) return "permission_prompt";
  return message.includes("waiting for your input") ? "idle_prompt" : undefined;
}

function stop(name: string, hook: Payload, scope: string | undefined): Meaning {
  if (scope !== undefined) return [{ notification: "other" }, { kind: "subagent_ended", scope }];
  // Grok says Stop once more while it shuts down, after its SessionEnd.
  if (hook.text("reason") === "shutdown") return OTHER;
  const running = hook.list("background_tasks").filter((task) => task.text("status") === "running");
  const ids = running
    .filter((task) => task.text("type") === "subagent")
    .map((task) => task.text("id"));
  const subagents = ids.filter((id) => id !== undefined);
  const error = name === "StopFailure" ? (hook.text("error") ?? "unknown") : undefined;
  return [
    "stop",
    {
      kind: "turn_ended",
      subagents,
      background: running.length - subagents.length,
      ...(error === undefined ? {} : { error: error.slice(0, MAX_WORD) }),
    },
  ];
}

/** An error is shown as one word; whatever is longer is not one. */
const MAX_WORD = 64;

function scoped(hook: Payload, kind: "subagent_started" | "subagent_ended"): Meaning {
  const scope = hook.text("agent_id");
  return scope === undefined ? OTHER : [{ notification: "other" }, { kind, scope }];
}

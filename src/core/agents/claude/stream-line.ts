import type { SessionState } from "../../protocol/session.ts";

/** How nearly all lines begin: content, of which only the first of a turn matters. */
export const contentHeads = [
  '{"type":"stream_event"',
  '{"type":"assistant"',
  '{"type":"user"',
] as const;

/** How a prompt begins; enough to tell one that is too long to be read. */
export const PROMPT_HEAD = '{"type":"user"';

/** The wire takes no longer ids, words and paths. */
export const MAX_WORD = 256;
const MAX_TEXT = 4096;

export type WaitState = Extract<SessionState, `waiting_${string}`>;

/** Tools that ask the user something, or show a plan and ask about it. */
const QUESTIONS = new Set(["AskUserQuestion", "ExitPlanMode"]);

/** What a request of Claude makes of the session; `undefined`: no person has to answer it. */
export function waitFor(
  subtype: string | undefined,
  tool: string | undefined,
): WaitState | undefined {
  switch (subtype) {
    case "can_use_tool":
      return tool !== undefined && QUESTIONS.has(tool)
        ? "waiting_for_input"
        : "waiting_for_permission";
    case "elicitation":
    case "request_user_dialog":
      return "waiting_for_input";
    default:
      return undefined; // the program that runs Claude answers by itself
  }
}

/** A background task that is a subagent. Commands in the background leave the session idle. */
const AGENT_TASK = "local_agent";

/** The ids of the subagents in a list of background tasks. */
export function agentsIn(tasks: unknown): string[] {
  if (!Array.isArray(tasks)) return [];
  const agents = tasks.filter((task) => textIn(task, "task_type") === AGENT_TASK);
  return agents.flatMap((task) => textIn(task, "task_id") ?? []);
}

/** A field of what may be an object. */
export function fieldIn(object: unknown, key: string): unknown {
  const isObject = typeof object === "object" && object !== null;
  return isObject ? (object as Record<string, unknown>)[key] : undefined;
}

/** A field that is text, if it is neither empty nor too long. */
export function textIn(object: unknown, key: string, maxLength = MAX_TEXT): string | undefined {
  const value = fieldIn(object, key);
  const isFit = typeof value === "string" && value !== "" && value.length <= maxLength;
  return isFit ? value : undefined;
}

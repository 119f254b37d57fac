import type { AgentEvent } from "../protocol/report.ts";
import type { CallRef } from "../protocol/signal.ts";

/** What a hook call tells: an event of a session, or its end. */
export type HookReport =
  | { kind: "event"; event: AgentEvent }
  | { kind: "end"; sessionId: string; agent: string; reason?: string };

/** Which call a payload is about, and whose. */
export function refOf(hook: Payload): CallRef {
  const scope = hook.text("agent_id");
  const tool = hook.text("tool_name");
  const call = hook.text("tool_use_id");
  return {
    ...(scope === undefined ? {} : { scope }),
    ...(tool === undefined ? {} : { tool }),
    ...(call === undefined ? {} : { call }),
  };
}

/** What an event is called when it is explained: its own name, its tool's, and whether a subagent's. */
export function nameOf(event: string, hook: Payload): string {
  const details = [hook.text("tool_name"), hook.has("agent_id") ? "subagent" : undefined];
  const known = details.filter((detail) => detail !== undefined);
  return known.length > 0 ? `${event}(${known.join(", ")})` : event;
}

/** What a payload knows of the session. */
export function fieldsOf(hook: Payload): AgentEvent["fields"] {
  const cwd = hook.text("cwd");
  const transcript_path = hook.text("transcript_path");
  const model = hook.text("model");
  return {
    ...(cwd === undefined ? {} : { cwd }),
    ...(transcript_path === undefined ? {} : { transcript_path }),
    ...(model === undefined ? {} : { model }),
  };
}

/** Longer values are no ids, names or paths; nothing else is taken from a payload. */
const MAX_TEXT = 4096;

/** Looks into a hook's payload by a field's name in snake case, or the same name in camel case. */
export class Payload {
  readonly #value: Record<string, unknown>;

  constructor(value: unknown) {
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    this.#value = isObject ? (value as Record<string, unknown>) : {};
  }

  has(key: string): boolean {
    return Object.hasOwn(this.#value, key);
  }

  text(key: string): string | undefined {
    const value = this.#get(key);
    return typeof value === "string" && value !== "" && value.length <= MAX_TEXT
      ? value
      : undefined;
  }

  list(key: string): Payload[] {
    const value = this.#get(key);
    return Array.isArray(value) ? value.map((item) => new Payload(item)) : [];
  }

  #get(key: string): unknown {
    if (this.has(key)) return this.#value[key];
    const camel = key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    return this.has(camel) ? this.#value[camel] : undefined;
  }
}

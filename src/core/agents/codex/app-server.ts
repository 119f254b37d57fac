import type { Sighting } from "../../protocol/session.ts";
import type { EpochMs } from "../../protocol/time.ts";

/** What a thread does. `failed`: it rests, since an error ended its last turn. */
export type Doing =
  | "working"
  | "waiting_for_input"
  | "waiting_for_permission"
  | "idle"
  | "failed"
  | "closed";

/** What the server tells of a thread, without what is said in it. */
export type Thread = {
  id: string;
  /** The session that it is, or that it is a subagent of; absent when it is none of people's. */
  session?: string;
  doing?: Doing;
  /** Nobody sits at it. */
  headless: boolean;
  fields: Pick<Sighting, "cwd" | "model" | "transcript_path">;
};

/** What the server says by itself of a thread. */
export type ThreadNews =
  | { kind: "started"; thread: Thread; at?: EpochMs }
  /** Without `doing` the word is not known here, or was left out. */
  | { kind: "status"; id: string; doing?: Doing; at?: EpochMs };

export type ServerMessage =
  | ThreadNews
  /** Something that is sent only to those whom the server has subscribed to a thread. */
  | { kind: "subscribers_only" };

/**
 * Reads what Codex's app-server says by itself, or asks.
 * Source: docs/agents/codex.md#app-server, seen in 0.171.0.
 *
 * @returns `undefined` for what is of no interest here.
 */
export function readMessage(message: unknown): ServerMessage | undefined {
  const { id, method, params, emittedAtMs: at } = asObject(message);
  if (!isText(method)) return undefined;
  if (id !== undefined || /^(turn|item)\//.test(method)) return { kind: "subscribers_only" };
  const news = newsOf(method, asObject(params));
  return news && typeof at === "number" ? { ...news, at } : news;
}

function newsOf(method: string, params: Record<string, unknown>): ThreadNews | undefined {
  const { threadId: id } = params;
  switch (method) {
    case "thread/started": {
      const thread = readThread(params.thread);
      if (!thread) return undefined;
      const isWhole = thread.doing !== undefined && thread.fields.cwd !== undefined;
      return isWhole ? { kind: "started", thread } : { kind: "status", id: thread.id };
    }
    case "thread/status/changed":
      return isText(id)
        ? { kind: "status", id, ...optional("doing", readStatus(params.status)) }
        : undefined;
    case "thread/closed":
      return isText(id) ? { kind: "status", id, doing: "closed" } : undefined;
    default:
      return undefined;
  }
}

/** Reads a thread as `thread/started` and `thread/read` describe it. */
export function readThread(value: unknown): Thread | undefined {
  const thread = asObject(value);
  const { id, cwd, model, path, source, status } = thread;
  if (!isText(id)) return undefined;
  return {
    id,
    headless: source === "exec",
    fields: {
      ...(isText(cwd) ? { cwd } : {}),
      ...(isText(model) ? { model } : {}),
      ...(isText(path) ? { transcript_path: path } : {}),
    },
    ...optional("session", sessionOf(thread, id)),
    ...optional("doing", readStatus(status)),
  };
}

function sessionOf(thread: Record<string, unknown>, id: string): string | undefined {
  const { ephemeral, sessionId, parentThreadId, threadSource, source } = thread;
  if (ephemeral === true) return undefined; // Codex thinks of a title in one
  if (isText(sessionId) && sessionId !== id) return sessionId;
  if (isText(parentThreadId)) return parentThreadId;
  const isCodexOwn = isText(threadSource) && threadSource !== "user";
  return isCodexOwn || Object.hasOwn(asObject(source), "subAgent") ? undefined : id;
}

/** A status that is not known says nothing; beside `active`, a flag that is not known neither. */
function readStatus(value: unknown): Doing | undefined {
  const { type, activeFlags } = asObject(value);
  const flags: unknown[] = Array.isArray(activeFlags) ? activeFlags : [];
  switch (type) {
    case "active":
      if (flags.includes("waitingOnApproval")) return "waiting_for_permission";
      return flags.includes("waitingOnUserInput") ? "waiting_for_input" : "working";
    case "idle":
      return "idle";
    case "systemError":
      return "failed";
    case "notLoaded":
      return "closed";
    default:
      return undefined;
  }
}

/** Reads a page of `thread/loaded/list`; `undefined` when it is none. */
export function readLoaded(result: unknown): { ids: string[]; cursor?: string } | undefined {
  const { data, nextCursor } = asObject(result);
  if (!Array.isArray(data)) return undefined;
  return { ids: data.filter(isText), ...(isText(nextCursor) ? { cursor: nextCursor } : {}) };
}

/** Longer values are no ids, names or paths. */
const MAX_TEXT = 4096;

const isText = (value: unknown): value is string =>
  typeof value === "string" && value !== "" && value.length <= MAX_TEXT;

const asObject = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};

const optional = <K extends string, V>(key: K, value: V | undefined) =>
  (value === undefined ? {} : { [key]: value }) as { [P in K]?: V };

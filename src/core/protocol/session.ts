import * as z from "zod/mini";
import { MAX_FOLDERS } from "./limits.ts";
import { parseTime } from "./time.ts";

/** What a session is doing; see docs/protocol.md#states. */
export const states = [
  "starting",
  "working",
  "idle",
  "waiting_for_input",
  "waiting_for_permission",
  "ended",
] as const;
export type SessionState = (typeof states)[number];

export const eventNames = [
  "session_start",
  "user_prompt_submit",
  "pre_tool_use",
  "post_tool_use",
  "stop",
  "transcript_grew",
  "transcript_discovered",
] as const;

export const notifications = [
  "permission_prompt",
  "idle_prompt",
  "agent_needs_input",
  "other",
] as const;

/** What a reporter can say has happened. */
export type SessionEvent =
  | (typeof eventNames)[number]
  | { notification: (typeof notifications)[number] }
  | { stream_state: SessionState };

/** The most recent sighting of a session: an event, or what only the daemon itself can see. */
export type LastEvent = SessionEvent | "session_end" | { process_record: string };

const id = z.string().check(z.minLength(1), z.maxLength(256));
const path = z.string().check(z.minLength(1), z.maxLength(4096));
const word = z.string().check(z.minLength(1), z.maxLength(256));
const pid = z.int().check(z.gt(0), z.lt(2 ** 31));
const count = z.int().check(z.gte(0), z.lte(10_000));
const time = z
  .string()
  .check(z.refine((text) => parseTime(text) !== undefined, { error: "expected an RFC 3339 time" }));

/** The name of the program that runs the session: claude, codex, pi, or any other in this form. */
const agent = z.string().check(
  z.regex(/^[a-z][a-z0-9-]{0,31}$/, {
    error: "expected a name like claude: [a-z][a-z0-9-]{0,31}",
  }),
);

const event = z.union(
  [
    z.enum(eventNames),
    z.object({ notification: z.enum(notifications) }),
    z.object({ stream_state: z.enum(states) }),
  ],
  { error: (issue) => `unknown event: ${JSON.stringify(issue.input)}` },
);

/** Optional fields may also be null: it means the same as leaving them out. */
const maybe = <T extends z.core.SomeType>(type: T) =>
  z.pipe(
    z.optional(z.nullable(type)),
    z.transform((value) => value ?? undefined),
  );

/** `observe`: one thing that was seen of one session. */
export const sighting = z.object({
  session_id: id,
  event,
  agent: maybe(agent),
  cwd: maybe(path),
  transcript_path: maybe(path),
  model: maybe(word),
  pid: maybe(pid),
  repo: maybe(word),
  /** Nobody sits at it. */
  headless: maybe(z.boolean()),
  at: maybe(time),
});
export type Sighting = Loose<z.infer<typeof sighting>>;

/** `end`: a session is over. */
export const ending = z.object({
  session_id: id,
  reason: maybe(word),
  pid: maybe(pid),
  at: maybe(time),
});
export type Ending = Loose<z.infer<typeof ending>>;

/** `window`: what one editor window shows of agents; to be repeated every 10 s. */
export const windowReport = z.object({
  key: id,
  folders: z.array(path).check(z.maxLength(MAX_FOLDERS)),
  tabs: count,
  terminals: count,
});
export type WindowReport = z.infer<typeof windowReport>;

export const sessionKey = z.object({ session_id: id });

export const windowKey = z.object({ key: id });

/** `hook`: what a launcher knows of the agent that called it; the agent's own payload follows. */
export const hookHeader = z.object({
  agent,
  /** The agent's process, as the agent itself says. */
  pid: maybe(pid),
  /** The launcher's parent: the agent, or a shell that the agent started. */
  ppid: maybe(pid),
  /** Variables of the agent's environment, by their names in small letters. */
  env: maybe(z.record(z.string(), z.string())),
});
export type HookHeader = Loose<z.infer<typeof hookHeader>>;

/** Where a session is shown: a VS Code window that reports itself, or anywhere else. */
export type Source = { kind: "terminal" } | { kind: "vs_code"; window_key: string };

/** One session as `list` and `subscribe` show it. Times are RFC 3339. */
export type Entry = {
  session_id: string;
  agent: string;
  cwd?: string;
  repo?: string;
  transcript_path?: string;
  model?: string;
  state: SessionState;
  source: Source;
  last_event: LastEvent;
  started_at: string;
  last_seen: string;
  state_since: string;
  pid?: number;
  name?: string;
  background?: number;
  error?: string;
  headless?: true;
};

export type Snapshot = { sessions: Entry[] };

/** The same object with absent fields allowed to be missing, not only undefined. */
type Loose<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: T[K] | undefined;
};

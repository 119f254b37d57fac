/** What the first line of a rollout tells of its thread. */
export type RolloutMeta = {
  /** The thread's id: of a session's own thread, also the session's. */
  id: string;
  /** A thread that people do not talk to: a subagent's, or one that Codex keeps for itself. */
  isAside: boolean;
  /** Nobody sits at it: `codex exec`. */
  headless: boolean;
  cwd?: string;
  /** When the thread was made, as Codex writes it: RFC 3339. */
  startedAt?: string;
};

const UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const ROLLOUT = new RegExp(`^rollout-.*-(${UUID})\\.jsonl$`, "i");
const LOCK = new RegExp(`^(${UUID})\\.lock$`, "i");

/** The thread that a file of this name is the rollout of; `undefined` for other files. */
export const threadOfRollout = (fileName: string): string | undefined =>
  ROLLOUT.exec(fileName)?.[1];

/** The thread that a file of this name is the lock of; `undefined` for other files. */
export const threadOfLock = (fileName: string): string | undefined => LOCK.exec(fileName)?.[1];

/**
 * Reads the first line of a rollout, its `session_meta` record.
 * Source: docs/agents/codex.md#rollouts, seen in 0.171.0.
 *
 * @returns `undefined` when it is no such line; then the file is nobody's session.
 */
export function readRolloutMeta(line: string): RolloutMeta | undefined {
  const record = asObject(parse(line));
  const meta = asObject(record?.payload);
  const id = text(meta?.id);
  if (record?.type !== "session_meta" || !meta || id === undefined) return undefined;
  const kind = text(meta.thread_source);
  const parent = text(meta.session_id);
  const isSubagent = asObject(meta.source)?.subagent !== undefined;
  const isOwnBusiness = meta.ephemeral === true || (kind !== undefined && kind !== "user");
  const cwd = text(meta.cwd);
  const startedAt = text(meta.timestamp);
  return {
    id,
    isAside: isSubagent || isOwnBusiness || (parent !== undefined && parent !== id),
    headless: meta.source === "exec",
    ...(cwd === undefined ? {} : { cwd }),
    ...(startedAt === undefined ? {} : { startedAt }),
  };
}

/** Longer values are no ids and no paths. */
const MAX_TEXT = 4096;

const text = (value: unknown) =>
  typeof value === "string" && value !== "" && value.length <= MAX_TEXT ? value : undefined;

const asObject = (value: unknown): Record<string, unknown> | undefined =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // cut short, or no JSON: no session_meta
  }
}

import type { ProcessRecord } from "../../protocol/report.ts";
import type { SessionState } from "../../protocol/session.ts";
import type { EpochMs } from "../../protocol/time.ts";

/**
 * What Claude Code writes about one of its processes, in `sessions/<pid>.json` of its config folder.
 * Undocumented: every field but the first three may be missing in another version.
 * Source: docs/agents/claude.md#process-records, seen in 2.1.332.
 */
export type ClaudeRecord = {
  pid: number;
  sessionId: string;
  /** Start time of the process in clock ticks since boot: field 22 of /proc/<pid>/stat on Linux. */
  procStart: string;
  startedAt: EpochMs;
  cwd?: string;
  /** A name that the user gave; the ones that Claude makes up are left out. */
  name?: string;
  kind?: string;
  entrypoint?: string;
  /** The system and pid namespace that the pid belongs to: `linux:<machine>:pid:[<inode>]`. */
  pidDomain?: string;
  /** The status word; absent in the first moments of a process. */
  status?: string;
  waitingFor?: string;
  /** When the status last changed, else when the record was last written. */
  statusAt: EpochMs;
};

/** Reads a record; `undefined` when the text is torn, or lacks what identifies process and session. */
export function parseRecord(text: string): ClaudeRecord | undefined {
  const fields = parseObject(text);
  const pid = numberIn(fields, "pid");
  const sessionId = textIn(fields, "sessionId");
  const procStart = textIn(fields, "procStart");
  if (pid === undefined || !sessionId || !procStart || !Number.isInteger(pid) || pid <= 0)
    return undefined;
  const startedAt = numberIn(fields, "startedAt") ?? 0;
  const statusAt =
    numberIn(fields, "statusUpdatedAt") ?? numberIn(fields, "updatedAt") ?? startedAt;
  const isNamed = textIn(fields, "nameSource") === "user";
  return {
    pid,
    sessionId,
    procStart,
    startedAt,
    statusAt,
    ...optional("cwd", textIn(fields, "cwd")),
    ...optional("name", isNamed ? textIn(fields, "name") : undefined),
    ...optional("kind", textIn(fields, "kind")),
    ...optional("entrypoint", textIn(fields, "entrypoint")),
    ...optional("pidDomain", textIn(fields, "pidDomain")),
    ...optional("status", textIn(fields, "status")),
    ...optional("waitingFor", textIn(fields, "waitingFor")),
  };
}

/**
 * Puts a record into the words of the engine, once its process was seen alive.
 *
 * @param startToken  the start time of that process as this daemon read it.
 * @param transcriptPath  the session's transcript, where one exists.
 * A record without a status is that of a process which is not up yet: it says nothing of the state.
 */
export function reportOf(
  record: ClaudeRecord,
  startToken: string,
  transcriptPath: string | undefined,
): ProcessRecord {
  const state = stateOf(record.status, record.waitingFor);
  return {
    agent: "claude",
    pid: record.pid,
    startToken,
    sessionId: record.sessionId,
    word: record.status ?? "no status",
    statusAt: record.statusAt,
    startedAt: record.startedAt,
    headless: isHeadless(record),
    interactive: record.entrypoint === "cli" && !isHeadless(record),
    ...optional("state", state),
    ...optional("isStarting", record.status === undefined ? (true as const) : undefined),
    ...optional("background", record.status === "shell" ? 1 : undefined),
    ...optional("cwd", record.cwd),
    ...optional("name", record.name),
    ...optional("transcriptPath", transcriptPath),
  };
}

/** What Claude itself counts as a question of permission; anything else waits for an answer. */
const PERMISSIONS = new Set([
  "permission prompt",
  "sandbox request",
  "worker request",
  "goal proposal",
]);

/** A word that is not known here says nothing: a newer Claude never makes an older tool wrong. */
function stateOf(
  status: string | undefined,
  waitingFor: string | undefined,
): SessionState | undefined {
  switch (status) {
    case "busy":
      return "working";
    case "idle":
    case "shell": // the turn is over, a background command runs on
      return "idle";
    case "waiting":
      return waitingFor !== undefined && PERMISSIONS.has(waitingFor)
        ? "waiting_for_permission"
        : "waiting_for_input";
    default:
      return undefined;
  }
}

/** Entrypoints at which nobody sits: `claude -p` and the SDKs, an MCP server, a CI job. */
const HEADLESS = new Set([
  "sdk-cli",
  "sdk-ts",
  "sdk-py",
  "mcp",
  "bench",
  "claude-code-github-action",
]);

/** An entrypoint that is not known is somebody's: hiding a session is worse than showing one. */
export const isHeadlessEntrypoint = (entrypoint: string): boolean => HEADLESS.has(entrypoint);

function isHeadless({ kind, entrypoint = "" }: ClaudeRecord): boolean {
  return isHeadlessEntrypoint(entrypoint) || kind === "daemon" || kind === "daemon-worker";
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {}; // half written: the next look finds it whole
  }
}

function textIn(fields: Record<string, unknown>, key: string): string | undefined {
  const value = fields[key];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function numberIn(fields: Record<string, unknown>, key: string): number | undefined {
  const value = fields[key];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

const optional = <K extends string, V>(key: K, value: V | undefined) =>
  (value === undefined ? {} : { [key]: value }) as { [P in K]?: V };

import { readHook } from "../../core/agents/claude/hooks.ts";
import { isHeadlessEntrypoint } from "../../core/agents/claude/record.ts";
import { readCodexHook } from "../../core/agents/codex/hooks.ts";
import { codexProcess } from "../../core/agents/codex/process.ts";
import type { Report } from "../../core/protocol/report.ts";
import type { HookHeader } from "../../core/protocol/session.ts";
import { nearestProgram, type ProcessTable } from "../../platform/process-table.ts";
import type { RawOp } from "../service.ts";

/** The largest payload taken; agents put whole files into them. */
const MAX_PAYLOAD_BYTES = 64 * 1024 * 1024;

/** What Claude says in its hooks' environment of how it was started. */
const ENTRYPOINT = "claude_code_entrypoint";

export type HookOpOptions = {
  table: ProcessTable;
  report: (report: Report) => void;
};

/**
 * Takes the payload of an agent's hook as it is, and reports what it means. The payload is dropped
 * at once; one that cannot be read changes nothing, for the launcher could not tell anybody.
 */
export function hookOp({ table, report }: HookOpOptions): RawOp {
  return {
    maxBytes: MAX_PAYLOAD_BYTES,
    async run(checked, body) {
      const header = checked as HookHeader;
      const payload = parse(body);
      const isCodex = header.agent === "codex";
      const read = isCodex ? readCodexHook(payload) : readHook(payload, header.agent);
      if (!read) return;
      const agent = read.kind === "event" ? read.event.agent : read.agent;
      const { headless, ...owner } = await (isCodex ? codexOwner : ownerOf)(agent, header, table);
      if (read.kind === "event") {
        report({ kind: "event", event: { ...read.event, ...owner, headless } });
        return;
      }
      const { sessionId, reason } = read;
      const ending = {
        session_id: sessionId,
        ...(reason === undefined ? {} : { reason }),
        ...owner,
      };
      report({ kind: "end", ending });
    },
  };
}

/** What the header tells of the process behind a hook: nothing when it is not certain whose it is. */
type Owner = { pid?: number; headless: boolean };

/** Another agent that was started inside a Claude session inherits what Claude says of itself. */
async function ownerOf(agent: string, header: HookHeader, table: ProcessTable): Promise<Owner> {
  const isClaude = agent === "claude";
  const headless = isClaude && isHeadlessEntrypoint(header.env?.[ENTRYPOINT] ?? "");
  if (isClaude && header.pid !== undefined) return { pid: header.pid, headless };
  const pid = header.ppid === undefined ? undefined : await nearestProgram(table, header.ppid);
  return { ...(pid === undefined ? {} : { pid }), headless };
}

/** A server of Codex's runs the hooks of many sessions, and says nothing about one of them. */
async function codexOwner(_: string, header: HookHeader, table: ProcessTable): Promise<Owner> {
  const pid = header.ppid === undefined ? undefined : await nearestProgram(table, header.ppid);
  const args = pid === undefined ? undefined : await table.argsOf(pid);
  if (pid === undefined || args === undefined) return { headless: false };
  const kind = codexProcess(args);
  return { ...(kind === "server" ? {} : { pid }), headless: kind === "exec" };
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined; // torn or garbage: whoever sent it has no one to complain to
  }
}

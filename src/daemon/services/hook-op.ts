import { readHook } from "../../core/agents/claude/hooks.ts";
import { isHeadlessEntrypoint } from "../../core/agents/claude/record.ts";
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
      const read = readHook(parse(body), header.agent);
      if (!read) return;
      const agent = read.kind === "event" ? read.event.agent : read.agent;
      const pid = await pidOf(agent, header, table);
      const owner = pid === undefined ? {} : { pid };
      if (read.kind === "event") {
        const headless = agent === "claude" && isHeadlessEntrypoint(header.env?.[ENTRYPOINT] ?? "");
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

/** Another agent that was started inside a Claude session inherits what Claude says of itself. */
async function pidOf(
  agent: string,
  header: HookHeader,
  table: ProcessTable,
): Promise<number | undefined> {
  if (agent === "claude" && header.pid !== undefined) return header.pid;
  return header.ppid === undefined ? undefined : nearestProgram(table, header.ppid);
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined; // torn or garbage: whoever sent it has no one to complain to
  }
}

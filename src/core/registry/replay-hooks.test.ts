import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { readHook } from "../agents/claude/hooks.ts";
import { parseRecord, reportOf } from "../agents/claude/record.ts";
import { Sessions } from "./sessions.ts";

// Every hook call of real Claude Code, in order, alone and together with the process records of the
// same run; docs/agents/claude.md says how they were made. What the table shows after each is in the
// `.expected.txt` beside it: what hooks alone tell, then what hooks and records tell.
const fixtures = new URL("../../../test/fixtures/claude/", import.meta.url).pathname;

/** The processes of a run by pid, with their start tokens: what the process table would say. */
type Table = Map<number, string>;
type Step = { ts: number; name: string; apply: (sessions: Sessions, table: Table) => void };

for (const [hooks, records] of [
  ["hooks", "registry"],
  ["stream-hooks", "stream-registry"],
] as const) {
  const files = readdirSync(path.join(fixtures, hooks)).filter((name) => name.endsWith(".ndjson"));
  for (const file of files) {
    const scenario = file.replace(".ndjson", "");
    test(`${hooks}/${scenario}: the table after each hook`, async () => {
      const calls = linesOf(path.join(fixtures, hooks, file)).map(hookStep);
      const versions = linesOf(path.join(fixtures, records, file)).map(recordStep);
      const both = [...calls, ...versions].sort((a, b) => a.ts - b.ts);
      const text = ["hooks alone", ...replay(calls), "", "hooks and records", ...replay(both)].join(
        "\n",
      );
      const expected = path.join(fixtures, hooks, `${scenario}.expected.txt`);
      await expect(text).toMatchFileSnapshot(expected);
    });
  }
}

type Line = {
  ts: number;
  event: string;
  stdin: Record<string, unknown>;
  agentEnv?: { CLAUDE_PID?: string };
  chain?: { pid: number; comm: string }[];
  file: string;
  content?: { procStart: string; status?: string };
};

function linesOf(file: string): Line[] {
  return readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

function hookStep(line: Line): Step {
  const { agent_id: agent, tool_name: tool } = line.stdin;
  const details = [tool, agent && "subagent"].filter(Boolean).join(", ");
  return {
    ts: line.ts,
    name: `${line.event}${details && `(${details})`}`,
    apply: (sessions) => {
      const report = readHook(line.stdin);
      const pid = line.chain?.find(({ comm }) => comm === "claude")?.pid;
      if (report?.kind === "end") {
        sessions.end({ session_id: report.sessionId, ...(pid ? { pid } : {}) }, line.ts);
      } else if (report) {
        sessions.event({ ...report.event, ...(pid ? { pid } : {}) }, line.ts);
      }
    },
  };
}

function recordStep({ ts, content, file }: Line): Step {
  return {
    ts,
    name: content ? `record ${content.status ?? "without a status"}` : "record removed",
    apply: (sessions) => {
      if (!content)
        return void sessions.recordGone(Number(path.basename(file, ".json")), "removed", ts);
      const record = parseRecord(JSON.stringify(content));
      const report = record && reportOf(record, content.procStart, undefined);
      if (report) sessions.record(report, ts);
    },
  };
}

function replay(steps: Step[]): string[] {
  const sessions = new Sessions();
  const start = steps[0]?.ts ?? 0;
  const table: Table = new Map();
  return steps.map(({ ts, name, apply }) => {
    const isKnown = table.size > 0;
    const checks = sessions.pids().map((pid) => [pid, table.get(pid) ?? "gone"] as const);
    sessions.look(new Map(isKnown ? checks : []), ts);
    apply(sessions, table);
    const rows = sessions
      .list(ts)
      .map(({ session_id, state, background, error }) =>
        [
          session_id.slice(0, 4),
          state,
          background && `background ${background}`,
          error && `error ${error}`,
        ]
          .filter(Boolean)
          .join(" "),
      );
    return `${ts - start} ${name}: ${rows.join(", ") || "-"}`;
  });
}

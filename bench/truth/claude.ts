import path from "node:path";
import { readHook } from "../../src/core/agents/claude/hooks.ts";
import { parseRecord, reportOf } from "../../src/core/agents/claude/record.ts";
import { sessionOfTranscript } from "../../src/core/agents/claude/transcript.ts";
import type { HookReport } from "../../src/core/agents/hook-payload.ts";
import type { Captures, Line } from "./captures.ts";
import { addTruth, over, type Scenario, type Shown, type Step } from "./scenario.ts";

type Record = {
  pid: number;
  sessionId: string;
  procStart: string;
  status?: string;
  waitingFor?: string;
};

/** Reads a run of Claude Code; what it says of itself in its process record is the truth. */
export function claudeScenario(
  captures: Captures,
  name: string,
  { hooks, records }: { hooks: string; records: string },
): Scenario {
  const versions = captures.lines(records, name);
  const calls = captures.lines(hooks, name);
  const timeline = captures.lines("timeline", name);
  const truth: Scenario["truth"] = new Map();
  const tokens = new Map<number, string>();
  const current = new Map<number, string>();
  const steps: Step[] = [];
  for (const line of versions) {
    const pid = Number(path.basename(String(line.file), ".json"));
    const held = current.get(pid);
    const content = line.content as Record | undefined;
    if (held !== undefined && content?.sessionId !== held) {
      addTruth(truth, held, { at: line.ts, word: "gone", right: over });
    }
    if (!content) {
      current.delete(pid);
      if (held !== undefined) steps.push(goneStep(line, pid, held));
      continue;
    }
    tokens.set(pid, content.procStart);
    current.set(pid, content.sessionId);
    const { word, right } = truthOf(content);
    const isPlan = right.includes("waiting_for_permission") && asksForPlan(calls, content, line.ts);
    addTruth(truth, content.sessionId, { at: line.ts, word, right: isPlan ? waits : right });
    steps.push(recordStep(line, content));
  }
  steps.push(...calls.flatMap(hookStep));
  steps.push(...captures.tree("transcripts", name).flatMap(growthSteps));
  steps.sort((a, b) => a.at - b.at);
  const goneAt = goneIn(timeline);
  const endAt = Math.max(...steps.map(({ at }) => at), ...timeline.map(({ ts }) => ts));
  return { name: `${records}/${name}`, agent: "claude", steps, truth, goneAt, tokens, endAt };
}

const waits: readonly Shown[] = ["waiting_for_permission", "waiting_for_input"];

/** A plan is asked about by a question, which the record calls a permission: either is right. */
function asksForPlan(calls: readonly Line[], { sessionId }: Record, at: number): boolean {
  const asked = calls.filter(({ ts, event }) => event === "PermissionRequest" && ts <= at + 500);
  const last = asked.map(({ stdin }) => stdin as { session_id: string; tool_name: string });
  return last.findLast((it) => it.session_id === sessionId)?.tool_name === "ExitPlanMode";
}

function truthOf({ status, waitingFor }: Record): { word: string; right: readonly Shown[] } {
  const word = [status ?? "-", waitingFor].filter(Boolean).join(": ");
  switch (status) {
    case undefined:
      return { word, right: ["starting"] };
    case "busy":
      return { word, right: ["working"] };
    case "waiting":
      return {
        word,
        right: [
          waitingFor === "permission prompt" ? "waiting_for_permission" : "waiting_for_input",
        ],
      };
    default:
      return { word, right: ["idle"] };
  }
}

function recordStep({ ts: at }: Line, content: Record): Step {
  return {
    at,
    source: "record",
    session: content.sessionId,
    apply: (sessions) => {
      const record = parseRecord(JSON.stringify(content));
      const report = record && reportOf(record, content.procStart, undefined);
      if (report) sessions.record(report, at);
    },
  };
}

const goneStep = ({ ts: at }: Line, pid: number, session: string): Step => ({
  at,
  source: "record",
  session,
  apply: (sessions) => void sessions.recordGone(pid, "removed", at),
});

function hookStep(line: Line): Step[] {
  const report = readHook(line.stdin);
  if (!report) return [];
  const chain = (line.chain ?? []) as { pid: number; comm: string }[];
  const pid = chain.find(({ comm }) => comm === "claude")?.pid;
  const owner = pid === undefined ? {} : { pid };
  const session = report.kind === "end" ? report.sessionId : report.event.sessionId;
  return [
    {
      at: line.ts,
      source: "hook",
      session,
      ...marksOf(report),
      apply: (sessions) =>
        void (report.kind === "end"
          ? sessions.end({ session_id: session, ...owner }, line.ts)
          : sessions.event({ ...report.event, ...owner }, line.ts)),
    },
  ];
}

export function marksOf(report: HookReport): Pick<Step, "isStart" | "isPrompt" | "isIdleNotice"> {
  const event = report.kind === "event" ? report.event.event : "session_end";
  return {
    isStart: event === "session_start",
    isPrompt: event === "user_prompt_submit",
    isIdleNotice:
      typeof event === "object" && "notification" in event && event.notification === "idle_prompt",
  };
}

/** Lines that reached a transcript at the same time are one look of the feed's. */
function growthSteps({ name, lines }: { name: string; lines: Line[] }): Step[] {
  const session = sessionOfTranscript(path.basename(name).replace(".ndjson", ".jsonl"));
  if (session === undefined || name.includes("subagents")) return [];
  const times = [...new Set(lines.map(({ ts }) => ts))];
  return times.map((at) => ({
    at,
    source: "growth",
    session,
    apply: (sessions) =>
      void sessions.observe({ session_id: session, event: "transcript_grew" }, at),
  }));
}

/** When processes went, as the timeline tells. */
export function goneIn(timeline: readonly Line[]): Map<number, number> {
  const gone = timeline.flatMap(({ ts, what }) => {
    const pid = /^process-gone +pid=(\d+)/.exec(String(what))?.[1];
    return pid === undefined ? [] : [[Number(pid), ts] as const];
  });
  return new Map(gone);
}

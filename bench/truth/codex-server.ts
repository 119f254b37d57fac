import { readMessage, readThread, type Thread } from "../../src/core/agents/codex/app-server.ts";
import { LoadedThreads } from "../../src/core/agents/codex/loaded-threads.ts";
import { readRolloutMeta } from "../../src/core/agents/codex/rollout.ts";
import type { Report } from "../../src/core/protocol/report.ts";
import type { Captures } from "./captures.ts";
import { addTruth, over, type Scenario, type Shown, type Step } from "./scenario.ts";

/** The feed says again what is still so, as often. */
const HEARTBEAT_MS = 30_000;

/** What a client of Codex's server heard in a run, as the feed would report it. */
export function serverSteps(captures: Captures, scenario: string): Step[] {
  const lines = captures.lines("app-server", `${scenario}-watcher`);
  const threads = new LoadedThreads();
  const described = threadsOf(captures, scenario);
  const steps: Step[] = [];
  let repeatAt = (lines[0]?.ts ?? 0) + HEARTBEAT_MS;
  const report = (reports: readonly Report[], at: number) => {
    for (const one of reports) steps.push(...stepFor(one, at));
  };
  for (const { ts: at, dir, line } of lines) {
    for (; repeatAt < at; repeatAt += HEARTBEAT_MS)
      report(threads.repeat(repeatAt, repeatAt), repeatAt);
    const { result, ...message } = (line ?? {}) as { result?: unknown };
    if (dir !== "in") continue;
    const told = readMessage(message);
    if (told && told.kind !== "subscribers_only") report(threads.take(told, at), at);
    const read = readThread((result as { thread?: unknown } | undefined)?.thread);
    if (read) report(threads.takeRead(read, threads.mark(), at), at);
    // The captured client did not read what it heard of; the feed does, at once.
    for (const id of threads.takeUnread()) {
      const thread = described.get(id);
      if (thread) report(threads.takeRead(thread, threads.mark(), at), at);
    }
  }
  return steps;
}

/** Adds what the server says of its threads, for a run whose terminals were not recorded. */
export function serverTruth(captures: Captures, scenario: string, truth: Scenario["truth"]): void {
  const sessions = threadsOf(captures, scenario);
  for (const { ts: at, dir, line } of captures.lines("app-server", `${scenario}-watcher`)) {
    const told = dir === "in" ? readMessage(line) : undefined;
    if (told?.kind !== "status" || !told.doing || !sessions.get(told.id)?.session) continue;
    const word = told.doing;
    const right: readonly Shown[] = word === "closed" ? over : [word === "failed" ? "idle" : word];
    addTruth(truth, told.id, { at, word, right });
  }
}

/** The threads that have a rollout, as the server would describe them. */
function threadsOf(captures: Captures, scenario: string): Map<string, Thread> {
  const threads = new Map<string, Thread>();
  for (const { lines } of captures.tree("rollouts", scenario)) {
    const meta = readRolloutMeta(JSON.stringify(lines[0]?.line));
    if (!meta) continue;
    const { id, isAside, headless, cwd } = meta;
    const fields = cwd === undefined ? {} : { cwd };
    threads.set(id, { id, headless, fields, ...(isAside ? {} : { session: id }) });
  }
  return threads;
}

function stepFor(report: Report, at: number): Step[] {
  switch (report.kind) {
    case "sighting": {
      const { sighting, at: seenAt } = report;
      const apply: Step["apply"] = (sessions) => void sessions.observe(sighting, at, seenAt);
      return [{ at, source: "server", session: sighting.session_id, apply }];
    }
    case "event": {
      const { event, at: seenAt } = report;
      const apply: Step["apply"] = (sessions) => void sessions.event(event, at, seenAt);
      return [{ at, source: "server", session: event.sessionId, apply }];
    }
    case "end": {
      const { ending, at: seenAt } = report;
      const apply: Step["apply"] = (sessions) => void sessions.end(ending, at, seenAt);
      return [{ at, source: "server", session: ending.session_id, apply }];
    }
    default:
      return [];
  }
}

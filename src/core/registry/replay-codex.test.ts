import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { readCodexHook } from "../agents/codex/hooks.ts";
import { codexProcess } from "../agents/codex/process.ts";
import { readRolloutMeta, threadOfLock } from "../agents/codex/rollout.ts";
import { Sessions } from "./sessions.ts";

// Runs of real Codex: its hook calls, who held which thread's lock at some moments, when processes
// went, and what Codex itself wrote to its terminal of its state (OSC 7501); docs/agents/codex.md says
// how they were made. What the table shows after each is in the `.expected.txt` beside the hooks.
const fixtures = new URL("../../../test/fixtures/codex/", import.meta.url).pathname;

type Line = {
  ts: number;
  src: string;
  what: string;
  event: string;
  stdin: Record<string, unknown>;
  chain: { pid: number; comm: string; cmd?: string }[];
  snap?: string;
  procs: { pid: number; cmd: string }[];
  threadLocks: { file: string; held: string[] }[];
};
type Step = { ts: number; name: string; apply: (run: Run) => void };

/** One run: the table, and which processes of it live. */
class Run {
  readonly sessions = new Sessions();
  readonly gone = new Set<number>();
  /** Command lines by pid, as far as the captures hold them. */
  readonly commands = new Map<number, string>();
  readonly locked = new Set<string>();

  kindOf(pid: number) {
    const command = this.commands.get(pid) ?? "";
    // Long command lines are cut; the server runs from a folder of its own.
    const isServer = command.includes("/app-server-daemon/");
    return isServer ? "server" : codexProcess(command.split(" "));
  }

  ownerOf(pid: number | undefined) {
    return pid === undefined || this.kindOf(pid) === "server" ? {} : { pid };
  }
}

const scenarios = readdirSync(path.join(fixtures, "hooks"))
  .filter((name) => name.endsWith(".ndjson"))
  .map((name) => name.replace(".ndjson", ""));

test.each(scenarios)("codex/%s: the table after each thing that was seen", async (scenario) => {
  const asides = asidesOf(scenario);
  const steps = [
    ...linesOf("hooks", scenario).map(hookStep),
    ...linesOf("timeline", scenario).flatMap(timelineStep),
    ...linesOf("processes-and-locks", scenario).flatMap((line) => lockStep(line, asides)),
  ].sort((a, b) => a.ts - b.ts);
  const expected = path.join(fixtures, "hooks", `${scenario}.expected.txt`);
  await expect(`${replay(steps).join("\n")}\n`).toMatchFileSnapshot(expected);
});

function linesOf(folder: string, scenario: string): Line[] {
  const file = path.join(fixtures, folder, `${scenario}.ndjson`);
  if (!existsSync(file)) return [];
  const text = readFileSync(file, "utf8").trim();
  return text.split("\n").map((line) => JSON.parse(line));
}

/** The threads of a run that are no sessions, by what the first lines of its rollouts tell. */
function asidesOf(scenario: string): Set<string> {
  const folder = path.join(fixtures, "rollouts", scenario);
  const files = existsSync(folder) ? readdirSync(folder, { recursive: true }) : [];
  const metas = files
    .map((file) => path.join(folder, String(file)))
    .filter((file) => file.endsWith(".ndjson"))
    .map((file) => readRolloutMeta(JSON.stringify(JSON.parse(readFileSync(file, "utf8")).line)));
  return new Set(metas.flatMap((meta) => (meta?.isAside ? [meta.id] : [])));
}

function hookStep({ ts, event, stdin, chain }: Line): Step {
  const details = [
    stdin.tool_name,
    stdin.source,
    stdin.trigger,
    stdin.agent_id && "subagent",
  ].filter(Boolean);
  return {
    ts,
    name: `${event}${details.length > 0 ? `(${details.join(", ")})` : ""}`,
    apply: (run) => {
      for (const { pid, cmd } of chain) if (cmd) run.commands.set(pid, cmd);
      const parent = chain.find(({ comm }) => comm === "codex")?.pid;
      const owner = run.ownerOf(parent);
      const report = readCodexHook(stdin);
      if (report?.kind === "end") {
        run.sessions.end({ session_id: report.sessionId, ...owner }, ts);
      } else if (report) {
        run.sessions.event({ ...report.event, ...owner }, ts);
      }
    },
  };
}

function timelineStep({ ts, src, what }: Line): Step[] {
  const gone = /^process-gone +pid=(\d+)/.exec(what)?.[1];
  if (gone) {
    const apply = (run: Run) => void run.gone.add(Number(gone));
    return [{ ts, name: "process gone", apply }];
  }
  const state = /state=(\w+)/.exec(what)?.[1];
  if (src !== "osc 7501" || !state) return [];
  const kind = /kind=(\w+)/.exec(what)?.[1];
  return [{ ts, name: `  says ${state}${kind ? ` (${kind})` : ""}`, apply: () => {} }];
}

/** A moment at which the captures list the locks: that is one look of the feed's. */
function lockStep({ ts, snap, procs, threadLocks }: Line, asides: ReadonlySet<string>): Step[] {
  if (!snap) return [];
  const apply = (run: Run) => {
    for (const { pid, cmd } of procs) run.commands.set(pid, cmd);
    for (const { file, held } of threadLocks) {
      const sessionId = threadOfLock(file);
      if (sessionId === undefined || asides.has(sessionId)) continue;
      const pid = Number(/WRITE +(\d+)/.exec(held[0] ?? "")?.[1] ?? 0);
      if (!pid) continue;
      run.locked.add(sessionId);
      const isShared = run.kindOf(pid) === "server";
      const owner = run.ownerOf(pid);
      const at = run.sessions.list(ts).some((it) => it.session_id === sessionId) ? ts - 1 : ts;
      run.sessions.lock(
        { sessionId, agent: "codex", at, isShared, ...owner, fields: {}, headless: false },
        ts,
      );
    }
    const held = threadLocks.flatMap(({ file, held }) => (held.length > 0 ? [file] : []));
    for (const id of run.locked) {
      if (!held.includes(`${id}.lock`)) run.sessions.lockFreed(id, ts);
    }
  };
  return [{ ts, name: `locks "${snap}"`, apply }];
}

function replay(steps: Step[]): string[] {
  const run = new Run();
  const start = steps[0]?.ts ?? 0;
  return steps.map(({ ts, name, apply }) => {
    apply(run);
    const checks = run.sessions
      .pids()
      .map((pid) => [pid, run.gone.has(pid) ? "gone" : "1"] as const);
    run.sessions.look(new Map(checks), ts);
    const rows = run.sessions
      .list(ts)
      .map(({ session_id, state }) => `${session_id.slice(-4)} ${state}`);
    return `${ts - start} ${name}: ${rows.join(", ") || "-"}`;
  });
}

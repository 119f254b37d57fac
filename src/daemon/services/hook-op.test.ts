import { expect, test } from "vitest";
import { S1 } from "../../../test/harness/sightings.ts";
import type { Report } from "../../core/protocol/report.ts";
import type { ProcessTable } from "../../platform/process-table.ts";
import { hookOp } from "./hook-op.ts";

/** An agent (50) that runs its hooks by a shell (60) inside a shell (70). */
const table: ProcessTable = {
  check: async () => new Map(),
  parentOf: async (pid) =>
    new Map([
      [70, { parent: 60, name: "dash" }],
      [60, { parent: 50, name: "sh" }],
      [50, { parent: 1, name: "claude" }],
      [90, { parent: 1, name: "codex" }],
      [91, { parent: 1, name: "codex" }],
      [92, { parent: 1, name: "codex" }],
      [93, { parent: 1, name: "codex" }],
    ]).get(pid),
  argsOf: async (pid) =>
    new Map([
      [90, ["/usr/bin/codex", "--no-daemon"]],
      [91, ["/usr/bin/codex", "app-server", "--listen", "unix://", "--managed-daemon"]],
      [92, ["/usr/bin/codex", "exec", "--json", "go"]],
    ]).get(pid),
  cwdOf: () => undefined,
};

async function run(header: object, body: unknown): Promise<Report[]> {
  const reports: Report[] = [];
  const op = hookOp({ table, report: (report) => reports.push(report) });
  await op.run(header, Buffer.from(typeof body === "string" ? body : JSON.stringify(body)));
  return reports;
}

const stop = {
  session_id: S1,
  hook_event_name: "Stop",
  cwd: "/w/app",
  transcript_path: "/t/S1.jsonl",
};

test("the agent's own word for its pid is taken, else the nearest ancestor that is no shell", async () => {
  const pidFrom = async (header: object) => {
    const [report] = await run(header, stop);
    return report?.kind === "event" ? report.event.pid : "no event";
  };
  expect(await pidFrom({ agent: "claude", pid: 7, ppid: 70 })).toBe(7);
  expect(await pidFrom({ agent: "claude", ppid: 70 })).toBe(50);
  expect(await pidFrom({ agent: "claude", ppid: 99 })).toBeUndefined();
  expect(await pidFrom({ agent: "claude" })).toBeUndefined();
});

test("another agent that runs Claude's hooks is reported under its own name and pid", async () => {
  const grok = { sessionId: S1, hookEventName: "PreToolUse", toolName: "Bash", cwd: "/w/app" };
  expect(await run({ agent: "claude", pid: 7, ppid: 70 }, grok)).toMatchObject([
    { kind: "event", event: { agent: "grok", sessionId: S1, pid: 50, event: "pre_tool_use" } },
  ]);
});

test("what Grok says while it shuts down, after its end, revives nothing", async () => {
  const grok = { sessionId: S1, hookEventName: "Stop", reason: "shutdown" };
  const [report] = await run({ agent: "claude", ppid: 70 }, grok);
  expect(report).toMatchObject({ kind: "event", event: { signals: [{ kind: "refreshed" }] } });
});

test("B9: an SDK run is marked by what its hooks' environment says", async () => {
  const env = { claude_code_entrypoint: "sdk-ts" };
  expect(await run({ agent: "claude", env }, stop)).toMatchObject([{ event: { headless: true } }]);
  expect(await run({ agent: "claude", env: {} }, stop)).toMatchObject([
    { event: { headless: false } },
  ]);
});

test("an end carries its reason and pid", async () => {
  const end = { session_id: S1, hook_event_name: "SessionEnd", reason: "prompt_input_exit" };
  expect(await run({ agent: "claude", pid: 7 }, end)).toEqual([
    { kind: "end", ending: { session_id: S1, reason: "prompt_input_exit", pid: 7 } },
  ]);
});

test("D3: garbage, torn JSON, no session and an unknown event report nothing", async () => {
  const bodies = ["", "garbage", "\u0000", JSON.stringify(stop).slice(0, -1), "[]", "null", "7"];
  const others = [{ ...stop, session_id: undefined }, { ...stop, hook_event_name: "Tomorrow" }, {}];
  for (const body of [...bodies, ...others])
    expect(await run({ agent: "claude" }, body)).toEqual([]);
});

test("nothing of a conversation gets through", async () => {
  const canary = "CANARY";
  const payload = {
    ...stop,
    hook_event_name: "PostToolUseFailure",
    prompt: canary,
    message: canary,
    tool_name: "Bash",
    tool_use_id: "t1",
    tool_input: { command: canary },
    tool_response: canary,
    error: canary,
    last_assistant_message: canary,
  };
  expect(JSON.stringify(await run({ agent: "claude" }, payload))).not.toContain(canary);
});

test("a hook of Codex's tells the terminal that it came from, unless a server runs many of them", async () => {
  const start = { session_id: S1, hook_event_name: "Stop", cwd: "/w/app" };
  const ownerFrom = async (ppid: number) => {
    const [report] = await run({ agent: "codex", ppid }, start);
    if (report?.kind !== "event") return "no event";
    const { agent, pid, headless } = report.event;
    return { agent, pid, headless };
  };
  expect(await ownerFrom(90)).toEqual({ agent: "codex", pid: 90, headless: false });
  expect(await ownerFrom(91)).toEqual({ agent: "codex", pid: undefined, headless: false });
  expect(await ownerFrom(92)).toEqual({ agent: "codex", pid: 92, headless: true });
  // Nothing is known of its command line: it could be a server.
  expect(await ownerFrom(93)).toEqual({ agent: "codex", pid: undefined, headless: false });
});

test("a server's end of a session names no process", async () => {
  const end = { session_id: S1, hook_event_name: "SessionEnd", reason: "other" };
  expect(await run({ agent: "codex", ppid: 91 }, end)).toEqual([
    { kind: "end", ending: { session_id: S1, reason: "other" } },
  ]);
});

import { expect, test } from "vitest";
import { readCodexHook } from "./hooks.ts";
import { codexProcess } from "./process.ts";
import { readRolloutMeta, threadOfLock, threadOfRollout } from "./rollout.ts";

const ID = "01a22789-6287-7681-93a4-d27099ed339c";
const SUB = "01a2278c-b93c-7a00-9b5d-87c3b44f5df5";

const hook = (hook_event_name: string, more: object = {}) =>
  readCodexHook({ session_id: ID, hook_event_name, cwd: "/w", transcript_path: "/r", ...more });
const signals = (name: string, more: object = {}) => {
  const report = hook(name, more);
  return report?.kind === "event" ? report.event.signals : report;
};

test("each event means what Codex does then", () => {
  const call = { tool_name: "Bash", tool_use_id: "c1" };
  const ref = { tool: "Bash", call: "c1" };
  const question = { tool_name: "request_user_input", tool_use_id: "c2" };
  const asked = { tool: "request_user_input", call: "c2" };
  expect({
    start: signals("SessionStart", { source: "startup" }),
    compacted: signals("SessionStart", { source: "compact" }),
    prompt: signals("UserPromptSubmit"),
    call: signals("PreToolUse", call),
    question: signals("PreToolUse", question),
    done: signals("PostToolUse", call),
    permission: signals("PermissionRequest", { tool_name: "Bash" }),
    stop: signals("Stop"),
    interrupt: signals("Interrupt"),
    compacting: signals("PreCompact", { trigger: "manual" }),
    end: signals("SessionEnd", { reason: "other" }),
  }).toEqual({
    start: [{ kind: "started", replaces: true }],
    compacted: [{ kind: "refreshed" }],
    prompt: [{ kind: "prompted" }],
    call: [{ kind: "call_started", ...ref }],
    question: [
      { kind: "call_started", ...asked },
      { kind: "asked", wait: "input", ...asked },
    ],
    done: [{ kind: "call_ended", ...ref }],
    permission: [{ kind: "asked", wait: "permission", tool: "Bash" }],
    stop: [{ kind: "turn_ended" }],
    interrupt: [{ kind: "turn_ended" }],
    compacting: [{ kind: "refreshed" }],
    end: { kind: "end", sessionId: ID, agent: "codex", reason: "other" },
  });
});

test("a subagent asks through its parent, and moves it in no other way", () => {
  const scope = { agent_id: SUB };
  const ended = [{ kind: "subagent_ended", scope: SUB }];
  expect({
    start: signals("SubagentStart", scope),
    prompt: signals("UserPromptSubmit", scope),
    ask: signals("PermissionRequest", { ...scope, tool_name: "Bash" }),
    stops: ["Stop", "SubagentStop", "Interrupt", "SessionEnd"].map((name) => signals(name, scope)),
  }).toEqual({
    start: [{ kind: "refreshed" }],
    prompt: [{ kind: "refreshed" }],
    ask: [{ kind: "asked", wait: "permission", scope: SUB, tool: "Bash" }],
    stops: [ended, ended, ended, ended],
  });
});

test("a subagent's rollout and model are not its parent's", () => {
  const report = hook("PreToolUse", { agent_id: SUB, model: "small", tool_name: "Bash" });
  expect(report).toMatchObject({ kind: "event", event: { sessionId: ID, fields: {} } });
  expect(report?.kind === "event" && Object.keys(report.event.fields)).toEqual([]);
});

test.each([
  undefined,
  null,
  [],
  "text",
  {},
  { session_id: ID },
  { hook_event_name: "Stop" },
  { session_id: 7, hook_event_name: "Stop" },
  { session_id: ID, hook_event_name: "SomethingNew" },
])("a payload that tells nothing is nothing: %j", (payload) => {
  expect(readCodexHook(payload)).toBeUndefined();
});

test.each([
  ["tui", ["/usr/bin/codex"]],
  ["tui", ["codex", "--no-daemon"]],
  ["tui", ["codex", "resume", "--last"]],
  ["tui", ["codex", "please exec this"]],
  ["tui", ["codex", "please", "exec", "this"]],
  ["exec", ["codex", "exec", "--json", "go"]],
  ["exec", ["codex", "--search", "exec", "go"]],
  ["server", ["codex", "app-server"]],
  ["server", ["codex", "-c", "a=b", "app-server", "--listen", "unix://", "--managed-daemon"]],
  ["server", ["codex", "mcp-server"]],
] as const)("it is a %s: %j", (kind, args) => {
  expect(codexProcess(args)).toBe(kind);
});

test("files are told by their names", () => {
  expect(threadOfRollout(`rollout-2026-11-29T13-40-44-${ID}.jsonl`)).toBe(ID);
  expect(threadOfRollout(`rollout-2026-11-29T13-40-44-${ID}.jsonl.tmp`)).toBeUndefined();
  expect(threadOfLock(`${ID}.lock`)).toBe(ID);
  expect(threadOfLock(".coordination.lock")).toBeUndefined();
});

test.each(["", "{", "[]", "null", '{"type":"session_meta"}', '{"payload":{"id":"a"}}'])(
  "a first line that is no session_meta tells nothing: %s",
  (line) => {
    expect(readRolloutMeta(line)).toBeUndefined();
  },
);

test("threads that nobody talks to are told from sessions", () => {
  const isAside = (meta: object) =>
    readRolloutMeta(JSON.stringify({ type: "session_meta", payload: { id: ID, ...meta } }))
      ?.isAside;
  expect(isAside({ session_id: ID, source: "cli", thread_source: "user" })).toBe(false);
  expect(isAside({ source: "vscode" })).toBe(false);
  expect(isAside({ source: { subagent: {} } })).toBe(true);
  expect(isAside({ session_id: SUB })).toBe(true);
  expect(isAside({ thread_source: "thread_title" })).toBe(true);
  expect(isAside({ ephemeral: true })).toBe(true);
});

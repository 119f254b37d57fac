import { beforeEach, describe, expect, test, vi } from "vitest";
import {
  aContext,
  aDaemonInStoppedTime,
  aShutdown,
  aStart,
  FakePi,
  type ListeningDaemon,
  type PiEvent,
  startedPi,
} from "./fake-pi.ts";
import extension from "./omni-dev-sessions.ts";

let daemon: ListeningDaemon;

beforeEach(async () => {
  daemon = await aDaemonInStoppedTime();
});

const aStartedPi = (context?: object) => startedPi(extension, daemon, context);
const aPrompt = (kind: string) => ({ type: "ui_prompt_start", kind });

type Step = [event: string | PiEvent, state: string];
const idle = "idle";
const working = "working";
const permission = "waiting_for_permission";
const input = "waiting_for_input";
const compact = (reason: string) => ({ type: "session_before_compact", reason });
const tree = (userWantsSummary: boolean) => ({
  type: "session_before_tree",
  preparation: { userWantsSummary },
});

describe("after each event the state is right", () => {
  test.each<[title: string, ...steps: Step[]]>([
    [
      "a run",
      ["before_agent_start", working],
      ["agent_start", working],
      ["turn_start", working],
      ["tool_execution_start", working],
      ["agent_end", working],
      ["agent_settled", idle],
    ],
    [
      "a retry",
      ["agent_start", working],
      ["agent_end", working],
      ["agent_start", working],
      ["agent_end", working],
      ["agent_settled", idle],
    ],
    ["a turn nobody typed", ["turn_start", working], ["agent_settled", idle]],
    [
      "a confirmation within a run",
      ["agent_start", working],
      [aPrompt("confirm"), permission],
      ["ui_prompt_end", working],
      ["agent_settled", idle],
    ],
    [
      "a question while resting",
      [aPrompt("select"), input],
      ["ui_prompt_end", idle],
      [aPrompt("input"), input],
      ["ui_prompt_end", idle],
      [aPrompt("editor"), input],
      ["ui_prompt_end", idle],
      [aPrompt("custom"), input],
      ["ui_prompt_end", idle],
      [aPrompt("of a later pi"), input],
      ["ui_prompt_end", idle],
    ],
    [
      "a tool that starts beside a question",
      ["agent_start", working],
      [aPrompt("confirm"), permission],
      ["tool_execution_start", permission],
      ["ui_prompt_end", working],
      ["agent_settled", idle],
    ],
    [
      "a question that outlives its run",
      ["agent_start", working],
      [aPrompt("confirm"), permission],
      ["agent_settled", permission],
      ["ui_prompt_end", idle],
    ],
    [
      "an answer that comes before its question",
      ["agent_start", working],
      ["ui_prompt_end", working],
      [aPrompt("confirm"), working],
      [aPrompt("select"), input],
      ["ui_prompt_end", working],
      ["agent_settled", idle],
    ],
    ["/compact", [compact("manual"), working], ["session_compact", idle]],
    ["/compact that fails", [compact("manual"), working], ["session_compact_failed", idle]],
    ["/compact with nothing to do", ["session_compact_failed", idle]],
    [
      "a compaction before a run",
      [compact("threshold"), working],
      ["session_compact", working],
      ["before_agent_start", working],
      ["agent_settled", idle],
    ],
    [
      "a compaction within a run",
      ["agent_start", working],
      ["agent_end", working],
      [compact("overflow"), working],
      ["session_compact_failed", working],
      ["agent_settled", idle],
    ],
    ["/tree with a summary", [tree(true), working], ["session_tree", idle]],
    ["/tree without one", [tree(false), idle], ["session_tree", idle]],
  ])("%s", async (_, ...steps) => {
    const pi = await aStartedPi();
    const told = [idle];
    for (const [event, state] of steps) {
      await pi.emit(event);
      if (state !== told.at(-1)) told.push(state);
      await daemon.hears(told.length);
    }
    await pi.emit(aShutdown());
    expect(daemon.words).toEqual([...told, "ended"]);
    expect(pi.returned).toEqual([]);
  });
});

test("a report says what the contract asks for, and nothing else", async () => {
  const pi = await aStartedPi();
  vi.setSystemTime(1_005_000);
  await pi.emit(aShutdown("new", { targetSessionFile: "/pi/S2.jsonl" }));

  const pid = process.pid;
  expect(daemon.told).toEqual([
    {
      service: "sessions",
      op: "observe",
      payload: {
        session_id: "S1",
        event: { stream_state: "idle" },
        agent: "pi",
        cwd: "/w/app",
        transcript_path: "/pi/S1.jsonl",
        model: "fake-1",
        pid,
        at: "1970-01-01T00:16:40.000Z",
      },
    },
    {
      service: "sessions",
      op: "end",
      payload: { session_id: "S1", reason: "new", pid, at: "1970-01-01T00:16:45.000Z" },
    },
  ]);
});

test("another model is told at once", async () => {
  const pi = await aStartedPi();
  await pi.emit("model_select", aContext({ model: "fake-2" }));
  await pi.emit(aShutdown());
  expect(daemon.told.map(({ payload }) => payload.model)).toEqual(["fake-1", "fake-2", undefined]);
});

test.each([
  ["tui", undefined],
  ["rpc", undefined],
  ["print", true],
  ["json", true],
  ["of a later pi", undefined],
])("mode %s: headless %s", async (mode, headless) => {
  const pi = await aStartedPi(aContext({ mode }));
  await pi.emit(aShutdown());
  expect(daemon.told[0]?.payload.headless).toBe(headless);
});

test.each([
  ["quit", "/pi/S1.jsonl", ["idle", "ended"]],
  ["new", "/pi/S1.jsonl", ["idle", "ended"]],
  ["resume", "/pi/S1.jsonl", ["idle", "ended"]],
  ["fork", "/pi/S1.jsonl", ["idle", "ended"]],
  ["fork", undefined, ["idle", "ended"]],
  ["reload", "/pi/S1.jsonl", ["idle"]],
  ["of a later pi", "/pi/S1.jsonl", ["idle", "ended"]],
])("a shutdown with reason %s from %s tells %j", async (reason, file, words) => {
  const pi = await aStartedPi(aContext({ file }));
  await pi.emit(aShutdown(reason, reason === "fork" ? {} : { targetSessionFile: "/pi/S2.jsonl" }));
  await pi.emit("agent_start");
  await vi.advanceTimersByTimeAsync(120_000);
  expect(daemon.words).toEqual(words);
});

test("to resume the session one is in is no end", async () => {
  const pi = await aStartedPi();
  await pi.emit(aShutdown("resume", { targetSessionFile: "/pi/S1.jsonl" }));
  expect(daemon.words).toEqual(["idle"]);
});

test("an agent inside the same process is part of its session; a new session takes over", async () => {
  const pi = await aStartedPi();
  const inner = new FakePi(extension, aContext({ id: "inner", mode: "print" }));
  for (const event of [aStart(), "agent_start", "agent_settled", aShutdown()])
    await inner.emit(event);
  await pi.emit(aShutdown("reload"));
  const reloaded = new FakePi(extension);
  await reloaded.emit(aStart("reload"));
  await daemon.hears(2);
  await reloaded.emit(aShutdown("new"));
  const next = await aStartedPi(aContext({ id: "S2" }));
  await next.emit(aShutdown());
  const ids = daemon.told.map((told) => told.payload.session_id);
  expect(ids).toEqual(["S1", "S1", "S1", "S2", "S2"]);
  expect(daemon.words).toEqual(["idle", "idle", "ended", "idle", "ended"]);
});

test("a question of an extension that asks while the session starts is told", async () => {
  const pi = new FakePi(extension);
  await pi.emit(aPrompt("select"));
  await daemon.hears(1);
  await pi.emit("ui_prompt_end");
  await daemon.hears(2);
  await pi.emit(aStart());
  await pi.emit(aShutdown());
  expect(daemon.words).toEqual(["waiting_for_input", "idle", "ended"]);
});

test.each<[what: string, context: object]>([
  ["nothing", {}],
  ["an odd id", { sessionManager: { getSessionId: () => 7 } }],
  ["an id that is too long", aContext({ id: "x".repeat(257) })],
  [
    "a context that throws",
    new Proxy(
      {},
      {
        get() {
          throw new Error("stale");
        },
      },
    ),
  ],
])("without an id there is nothing to tell: %s", async (_, context) => {
  const pi = new FakePi(extension, context);
  for (const event of [aStart(), "agent_start", "agent_settled", aShutdown()]) await pi.emit(event);
  await vi.advanceTimersByTimeAsync(120_000);
  expect(daemon.told).toEqual([]);
});

test("what an older pi does not have is left out, and so is what the daemon would refuse", async () => {
  const cwd = "/w".repeat(2049);
  const pi = await aStartedPi({ cwd, sessionManager: { getSessionId: () => "S1" } });
  await pi.emit("agent_start");
  await daemon.hears(2);
  await pi.emit(aShutdown());
  const observed = { session_id: "S1", agent: "pi", pid: process.pid, at: expect.any(String) };
  expect(daemon.told.map(({ payload }) => payload)).toEqual([
    { ...observed, event: { stream_state: "idle" } },
    { ...observed, event: { stream_state: "working" } },
    { session_id: "S1", reason: "quit", pid: process.pid, at: expect.any(String) },
  ]);
});

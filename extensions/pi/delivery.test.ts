import { beforeEach, describe, expect, test, vi } from "vitest";
import {
  aContext,
  aDaemonInStoppedTime,
  aShutdown,
  aStart,
  FakePi,
  type ListeningDaemon,
  startedPi,
} from "./fake-pi.ts";
import extension from "./omni-dev-sessions.ts";

let daemon: ListeningDaemon;

beforeEach(async () => {
  daemon = await aDaemonInStoppedTime();
});

const aStartedPi = (context?: object) => startedPi(extension, daemon, context);
const aPrompt = (kind: string) => ({ type: "ui_prompt_start", kind });

test("the state is repeated every 30 s, with the time of the repetition", async () => {
  const pi = await aStartedPi();
  await vi.advanceTimersByTimeAsync(29_999);
  expect(daemon.told).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  await daemon.hears(2);
  await vi.advanceTimersByTimeAsync(30_000);
  await daemon.hears(3);
  await pi.emit(aShutdown());
  expect(daemon.told.map(({ payload }) => [payload.event?.stream_state, payload.at])).toEqual([
    ["idle", "1970-01-01T00:16:40.000Z"],
    ["idle", "1970-01-01T00:17:10.000Z"],
    ["idle", "1970-01-01T00:17:40.000Z"],
    [undefined, "1970-01-01T00:17:40.000Z"],
  ]);
});

test("a change of state starts the 30 s anew, and more of the same does not", async () => {
  const pi = await aStartedPi();
  await vi.advanceTimersByTimeAsync(20_000);
  await pi.emit("agent_start");
  await daemon.hears(2);
  await vi.advanceTimersByTimeAsync(29_000);
  await pi.emit("tool_execution_start");
  await vi.advanceTimersByTimeAsync(999);
  expect(daemon.words).toEqual(["idle", "working"]);
  await vi.advanceTimersByTimeAsync(1);
  await daemon.hears(3);
});

test("a clock that goes back takes no report back with it", async () => {
  const pi = await aStartedPi();
  vi.setSystemTime(500_000);
  await pi.emit("agent_start");
  await daemon.hears(2);
  vi.setSystemTime(1_000_001);
  await pi.emit(aShutdown());
  expect(daemon.told.map(({ payload }) => Date.parse(payload.at))).toEqual([
    1_000_000, 1_000_000, 1_000_001,
  ]);
});

test("a run that ends without an event is noticed, and one that goes on is not disturbed", async () => {
  let isResting = false;
  const pi = await aStartedPi(aContext({ isIdle: () => isResting }));
  await pi.emit("before_agent_start");
  await daemon.hears(2);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(daemon.words).toEqual(["idle", "working"]);
  isResting = true;
  await vi.advanceTimersByTimeAsync(2000);
  await daemon.hears(3);
  expect(daemon.words).toEqual(["idle", "working", "idle"]);
});

test("a session that pi drops without a word is ended at the next look", async () => {
  let isDropped = false;
  const isIdle = () => {
    if (isDropped) throw new Error("This extension ctx is stale");
    return true;
  };
  await aStartedPi(aContext({ isIdle }));
  isDropped = true;
  await vi.advanceTimersByTimeAsync(30_000);
  await daemon.hears(2);
  await vi.advanceTimersByTimeAsync(120_000);
  expect(daemon.words).toEqual(["idle", "ended"]);
});

describe("a daemon that takes reports in and never answers", () => {
  beforeEach(() => {
    daemon.hangs = true;
  });

  test("gets each report for 2 s, in order, and of waiting ones the newest", async () => {
    const pi = await aStartedPi();
    for (const event of ["agent_start", aPrompt("confirm"), "ui_prompt_end", aPrompt("select")])
      await pi.emit(event);
    await vi.advanceTimersByTimeAsync(1999);
    expect(daemon.words).toEqual(["idle"]);
    await vi.advanceTimersByTimeAsync(1);
    await daemon.hears(2);
    void pi.emit(aShutdown());
    await vi.advanceTimersByTimeAsync(2000);
    await daemon.hears(3);
    expect(daemon.words).toEqual(["idle", "waiting_for_input", "ended"]);
  });

  test("costs pi 1.5 s when a session ends, and nothing before", async () => {
    const pi = await aStartedPi();
    await pi.emit("agent_start");
    let isOver = false;
    const over = pi.emit(aShutdown()).then(() => {
      isOver = true;
    });
    await vi.advanceTimersByTimeAsync(1499);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await over;
  });

  test("leaves at most 32 reports waiting, and the newest stay", async () => {
    const pi = await aStartedPi(aContext({ id: "0" }));
    for (let i = 1; i <= 40; i++) await pi.emit("model_select", aContext({ id: String(i) }));
    daemon.hangs = false;
    daemon.daemon.hangUp();
    await pi.emit(aShutdown());
    const ids = daemon.told.map(({ payload }) => Number(payload.session_id));
    const last31 = Array.from({ length: 31 }, (_, i) => i + 10);
    expect(ids).toEqual([0, ...last31, 40]);
    expect(daemon.words.at(-1)).toBe("ended");
  });
});

test("without a daemon nothing is thrown and nothing waits; the next repetition finds a new one", async () => {
  await daemon.daemon.goAway();
  const pi = new FakePi(extension);
  await pi.emit(aStart());
  await pi.emit("agent_start");
  await daemon.daemon.listen();
  await vi.advanceTimersByTimeAsync(30_000);
  await daemon.hears(1);
  await pi.emit(aShutdown());
  expect(new Set(daemon.words)).toEqual(new Set(["working", "ended"]));
});

test("a socket path that no system takes is a missing daemon", async () => {
  for (const path of ["/x".repeat(200), "/a\0b"]) {
    vi.stubEnv("OMNI_DEV_SOCKET", path);
    const pi = new FakePi(extension);
    await pi.emit(aStart());
    await pi.emit(aShutdown());
    expect(pi.returned).toEqual([]);
  }
});

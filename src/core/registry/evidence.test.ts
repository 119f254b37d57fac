import { expect, test } from "vitest";
import { aRecord, aSighting, P1, P2, S1 } from "../../../test/harness/sightings.ts";
import type { SessionEvent } from "../protocol/session.ts";
import { Sessions } from "./sessions.ts";

const stateAt = (sessions: Sessions, now: number) => sessions.list(now)[0]?.state;
const see = (sessions: Sessions, event: SessionEvent, now: number, at?: number) =>
  sessions.observe(aSighting({ event }), now, at);

test("growth ends no wait and leaves starting alone", () => {
  for (const event of ["session_start", { notification: "permission_prompt" }] as const) {
    const sessions = new Sessions();
    see(sessions, event, 0);
    const before = stateAt(sessions, 0);
    expect(see(sessions, "transcript_grew", 60_000)).toBe(false);
    expect(stateAt(sessions, 60_000)).toBe(before);
  }
});

test("growth within 10 s of an event is its echo; later growth is work, for 15 s", () => {
  const sessions = new Sessions();
  see(sessions, "stop", 0);
  expect(see(sessions, "transcript_grew", 10_000)).toBe(false);
  expect(stateAt(sessions, 10_000)).toBe("idle");

  expect(see(sessions, "transcript_grew", 10_001)).toBe(true);
  expect(stateAt(sessions, 10_001)).toBe("working");
  expect(sessions.nextDeadline()).toBe(25_001);
  expect(stateAt(sessions, 25_000)).toBe("working");
  expect(stateAt(sessions, 25_001)).toBe("idle");

  expect(sessions.advance(25_001)).toBe(true);
  expect(sessions.list(25_001)[0]?.state_since).toBe("1970-01-01T00:00:25.001Z");
});

test("more growth renews the fifteen seconds, and the state keeps the time it began", () => {
  const sessions = new Sessions();
  see(sessions, "transcript_grew", 1000);
  see(sessions, "transcript_grew", 14_000);
  expect(sessions.list(28_000)[0]).toMatchObject({
    state: "working",
    state_since: "1970-01-01T00:00:01.000Z",
  });
  expect(stateAt(sessions, 29_000)).toBe("idle");
});

test("an event that ends growth starts the state it tells of", () => {
  const sessions = new Sessions();
  see(sessions, "transcript_discovered", 0);
  see(sessions, "transcript_grew", 20_000);
  see(sessions, "stop", 22_000);
  expect(sessions.list(22_000)[0]).toMatchObject({
    state: "idle",
    state_since: "1970-01-01T00:00:22.000Z",
  });
});

test("older evidence never overturns newer", () => {
  const sessions = new Sessions();
  see(sessions, "stop", 1000, 900);
  expect(see(sessions, "user_prompt_submit", 1001, 800)).toBe(false);
  expect(see(sessions, { notification: "permission_prompt" }, 1002, 850)).toBe(false);
  expect(stateAt(sessions, 1002)).toBe("idle");
  see(sessions, "user_prompt_submit", 1003, 900);
  expect(stateAt(sessions, 1003)).toBe("working");
});

test("evidence from the future counts as seen now", () => {
  const sessions = new Sessions();
  see(sessions, "user_prompt_submit", 1000, 999_999);
  see(sessions, "stop", 1001);
  expect(stateAt(sessions, 1001)).toBe("idle");
});

test("a live stream alone sets the state; when it falls silent the events kept meanwhile take over", () => {
  const sessions = new Sessions();
  see(sessions, { stream_state: "working" }, 0);
  see(sessions, { notification: "permission_prompt" }, 10);
  see(sessions, "stop", 1000);
  expect(stateAt(sessions, 1000)).toBe("working");
  expect(sessions.nextDeadline()).toBe(75_000);
  expect(stateAt(sessions, 74_999)).toBe("working");
  expect(sessions.advance(75_000)).toBe(true);
  expect(stateAt(sessions, 75_000)).toBe("idle");
});

test("a stream's heartbeat keeps it alive, and the time its state began", () => {
  const sessions = new Sessions();
  see(sessions, { stream_state: "idle" }, 1000);
  expect(see(sessions, { stream_state: "idle" }, 31_000)).toBe(false);
  see(sessions, "user_prompt_submit", 31_001);
  expect(sessions.list(100_000)[0]).toMatchObject({
    state: "idle",
    state_since: "1970-01-01T00:00:01.000Z",
  });
});

test("a stream outranks the record", () => {
  const sessions = new Sessions();
  sessions.record(aRecord({ state: "working", statusAt: 10 }), 10);
  see(sessions, { stream_state: "waiting_for_permission" }, 5, 5);
  expect(stateAt(sessions, 20)).toBe("waiting_for_permission");
});

test("A1-A4: the record ends what no hook ends: Esc, a denied permission, an approval", () => {
  const sessions = new Sessions();
  see(sessions, "user_prompt_submit", 10);
  see(sessions, { notification: "permission_prompt" }, 20);
  expect(stateAt(sessions, 20)).toBe("waiting_for_permission");

  sessions.record(aRecord({ state: "working", word: "busy", statusAt: 30 }), 31);
  expect(stateAt(sessions, 31)).toBe("working");
  sessions.record(aRecord({ state: "idle", statusAt: 40 }), 41);
  expect(stateAt(sessions, 41)).toBe("idle");
});

test("a late notification changes nothing while a record speaks", () => {
  const sessions = new Sessions();
  sessions.record(aRecord({ statusAt: 40 }), 41);
  for (const notification of ["permission_prompt", "idle_prompt"] as const) {
    see(sessions, { notification }, 60_000);
    expect(stateAt(sessions, 200_000)).toBe("idle");
  }
});

test("A23: a record that an event contradicts and that does not move has lost after 30 s", () => {
  const sessions = new Sessions();
  sessions.record(aRecord({ state: "working", word: "busy", statusAt: 0 }), 0);
  see(sessions, "stop", 5000);
  expect(stateAt(sessions, 34_999)).toBe("working");
  expect(sessions.nextDeadline()).toBe(35_000);
  expect(sessions.advance(35_000)).toBe(true);
  expect(stateAt(sessions, 35_000)).toBe("idle");

  sessions.record(aRecord({ state: "working", word: "busy", statusAt: 36_000 }), 36_000);
  expect(stateAt(sessions, 36_000)).toBe("working");
});

test("a record that has lost stays so until it moves, whatever events come", () => {
  const sessions = new Sessions();
  sessions.record(aRecord({ state: "working", word: "busy", statusAt: 0 }), 0);
  see(sessions, "stop", 5000);
  expect(stateAt(sessions, 40_000)).toBe("idle");
  see(sessions, "user_prompt_submit", 50_000);
  expect(stateAt(sessions, 50_000)).toBe("working");
  see(sessions, { notification: "other" }, 55_000);
  see(sessions, "stop", 60_000);
  expect(stateAt(sessions, 60_000)).toBe("idle");
  sessions.record(
    aRecord({ state: "working", word: "busy", statusAt: 0, name: "renamed" }),
    61_000,
  );
  expect(stateAt(sessions, 61_000)).toBe("idle");
  sessions.record(aRecord({ state: "working", word: "busy", statusAt: 62_000 }), 62_000);
  expect(stateAt(sessions, 62_000)).toBe("working");
});

test("a record is contradicted from the first event on, whatever others say after it", () => {
  const sessions = new Sessions();
  sessions.record(aRecord({ statusAt: 0 }), 0);
  see(sessions, "user_prompt_submit", 10_000);
  see(sessions, "pre_tool_use", 30_000);
  expect(stateAt(sessions, 39_999)).toBe("idle");
  expect(stateAt(sessions, 40_000)).toBe("working");
});

test("a start does not contradict a record that says idle", () => {
  const sessions = new Sessions();
  sessions.record(aRecord({ statusAt: 0 }), 0);
  see(sessions, "session_start", 10_000);
  expect(stateAt(sessions, 100_000)).toBe("idle");
});

test("a record whose word nobody knows does not keep a row ended", () => {
  const sessions = new Sessions();
  const { state: _, ...unknown } = aRecord({ word: "pondering", statusAt: 10 });
  sessions.record(unknown, 10);
  sessions.end({ session_id: S1 }, 20);
  expect(stateAt(sessions, 10_019)).toBe("ended");
  sessions.advance(10_020);
  expect(stateAt(sessions, 10_020)).toBe("idle");
});

test("A22: a word that nobody knows changes nothing", () => {
  const { state: _, ...unknown } = aRecord({ word: "pondering", statusAt: 50 });
  const fresh = new Sessions();
  fresh.record(unknown, 50);
  expect(stateAt(fresh, 50)).toBe("idle");

  const working = new Sessions();
  working.record(aRecord({ state: "working", word: "busy", statusAt: 10 }), 10);
  working.record(unknown, 50);
  expect(working.list(50)[0]).toMatchObject({
    state: "working",
    last_event: { process_record: "pondering" },
  });
});

test("of two live processes that hold one id, the one that moved last tells the state", () => {
  const sessions = new Sessions();
  sessions.record(aRecord({ pid: P1, statusAt: 10, state: "working", word: "busy" }), 10);
  sessions.record(aRecord({ pid: P2, statusAt: 20, startToken: "950" }), 20);
  expect(stateAt(sessions, 20)).toBe("idle");
  sessions.record(
    aRecord({ pid: P1, statusAt: 30, state: "waiting_for_input", word: "waiting" }),
    30,
  );
  expect(stateAt(sessions, 30)).toBe("waiting_for_input");
  sessions.recordGone(P1, "removed", 40);
  expect(stateAt(sessions, 40)).toBe("idle");
});

test("a background command is shown beside the state and goes with the next statement", () => {
  const sessions = new Sessions();
  sessions.record(aRecord({ word: "shell", background: 1, statusAt: 10 }), 10);
  expect(sessions.list(10)[0]).toMatchObject({ session_id: S1, state: "idle", background: 1 });
  sessions.record(aRecord({ statusAt: 20 }), 20);
  expect(sessions.list(20)[0]).not.toHaveProperty("background");
});

import { expect, test } from "vitest";
import { aRecord, aSighting, P1, P2, S1, S2, statesOf } from "../../../test/harness/sightings.ts";
import type { SessionLock } from "../protocol/report.ts";
import { Sessions } from "./sessions.ts";

/** The lock of S1 in a terminal of its own, P1, since time 0. */
function aLock(fields: Partial<SessionLock> = {}): SessionLock {
  const own = fields.isShared ? {} : { pid: P1 };
  return {
    sessionId: S1,
    agent: "codex",
    at: 0,
    isShared: false,
    headless: false,
    fields: { cwd: "/w/app" },
    ...own,
    ...fields,
  };
}

const HOUR = 3_600_000;
const alive = (...pids: number[]) => new Map(pids.map((pid) => [pid, "900"] as const));

test("a session whose lock is held is idle at first sight, and stays for hours of silence", () => {
  const sessions = new Sessions();
  sessions.lock(aLock(), 0);
  sessions.look(alive(P1), 6 * HOUR);
  expect(sessions.list(6 * HOUR)).toMatchObject([
    { session_id: S1, agent: "codex", state: "idle", cwd: "/w/app", pid: P1 },
  ]);
});

test("a thread that was made long ago and is opened now has rested since now", () => {
  const sessions = new Sessions();
  sessions.lock(aLock({ startedAt: HOUR, at: 3 * HOUR }), 3 * HOUR);
  expect(sessions.list(3 * HOUR)).toMatchObject([
    { started_at: "1970-01-01T01:00:00.000Z", state_since: "1970-01-01T03:00:00.000Z" },
  ]);
});

test("a lock that is held says nothing of the state", () => {
  const sessions = new Sessions();
  sessions.observe(aSighting({ event: { notification: "permission_prompt" }, agent: "codex" }), 0);
  sessions.lock(aLock({ at: 5 }), 10);
  sessions.lock(aLock({ at: 5 }), 60_010);
  expect(statesOf(sessions.list(60_010))).toEqual({ S1: "waiting_for_permission" });
});

test("a lock that is let go of ends its session; ten seconds later the row is gone", () => {
  const sessions = new Sessions();
  sessions.lock(aLock({ isShared: true }), 0);
  expect(sessions.lockFreed(S1, 1000)).toBe(true);
  expect(statesOf(sessions.list(1000))).toEqual({ S1: "ended" });
  expect(sessions.nextDeadline()).toBe(11_000);
  expect(sessions.list(11_000)).toEqual([]);
  expect(sessions.lockFreed(S1, 12_000)).toBe(false);
});

test("a lock is told of again and again after an end: that revives nothing, taking it anew does", () => {
  const sessions = new Sessions();
  sessions.lock(aLock({ isShared: true }), 0);
  sessions.end({ session_id: S1 }, 1000);
  sessions.lock(aLock({ isShared: true }), 2000);
  expect(statesOf(sessions.list(2000))).toEqual({ S1: "ended" });
  sessions.lockFreed(S1, 2500);
  sessions.lock(aLock({ isShared: true, at: 3000 }), 3000);
  expect(statesOf(sessions.list(3000))).toEqual({ S1: "idle" });
});

test("who was said to have ended, and is still open after ten seconds, has not", () => {
  const sessions = new Sessions();
  sessions.lock(aLock({ isShared: true }), 0);
  sessions.end({ session_id: S1 }, 1000);
  sessions.advance(11_000);
  expect(statesOf(sessions.list(11_000))).toEqual({ S1: "idle" });
});

test("a process takes up another session's lock: the one that it was in goes, and stays away", () => {
  const sessions = new Sessions();
  sessions.lock(aLock(), 0);
  sessions.lock(aLock({ sessionId: S2, at: 5000 }), 5000);
  expect(statesOf(sessions.list(5000))).toEqual({ S2: "idle" });
  // Its lock is still held, and told of for as long as the process lives.
  for (let now = 60_000; now < HOUR; now += 60_000) sessions.lock(aLock(), now);
  expect(statesOf(sessions.list(HOUR))).toEqual({ S2: "idle" });
});

test("at the first look the order in which locks are told of makes no difference", () => {
  for (const order of [
    [aLock({ at: 1 }), aLock({ sessionId: S2, at: 2 })],
    [aLock({ sessionId: S2, at: 2 }), aLock({ at: 1 })],
  ]) {
    const sessions = new Sessions();
    for (const lock of order) sessions.lock(lock, 10);
    expect(statesOf(sessions.list(10))).toEqual({ S2: "idle" });
  }
});

test("the sessions of a server that many share live side by side, and none has its pid", () => {
  const sessions = new Sessions();
  sessions.observe(aSighting({ event: "stop", agent: "codex", pid: P2 }), 0);
  sessions.lock(aLock({ isShared: true, at: 10 }), 10);
  sessions.lock(aLock({ isShared: true, at: 20, sessionId: S2 }), 20);
  expect(sessions.list(20)).toHaveLength(2);
  expect(sessions.list(20).map(({ pid }) => pid)).toEqual([undefined, undefined]);
});

test("the terminal before dies after a server has taken its session up: the row stays", () => {
  const sessions = new Sessions();
  sessions.lock(aLock(), 0);
  sessions.look(alive(P1), 1);
  sessions.lock(aLock({ isShared: true, at: 10 }), 10);
  sessions.look(new Map([[P1, "gone"]]), 20);
  expect(statesOf(sessions.list(20))).toEqual({ S1: "idle" });
});

test("a killed process takes its session with it at once, whatever the lock is known to be", () => {
  const sessions = new Sessions();
  sessions.lock(aLock(), 0);
  sessions.look(alive(P1), 1);
  sessions.look(new Map([[P1, "gone"]]), 1000);
  expect(sessions.list(1000)).toEqual([]);
});

test("a lock let go of while another live process holds the session ends nothing", () => {
  const sessions = new Sessions();
  sessions.lock(aLock(), 0);
  sessions.record(aRecord({ pid: P2, state: "working", statusAt: 5 }), 5);
  sessions.lockFreed(S1, 10);
  expect(statesOf(sessions.list(10))).toEqual({ S1: "working" });
});

test("a folder that an event told of is not taken back by what the lock's file says", () => {
  const sessions = new Sessions();
  sessions.lock(aLock(), 0);
  sessions.observe(aSighting({ event: "stop", cwd: "/w/other", agent: "codex" }), 1000);
  sessions.lock(aLock(), 60_000);
  expect(sessions.list(60_000)[0]?.cwd).toBe("/w/other");
});

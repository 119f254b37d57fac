import { expect, test } from "vitest";
import { aRecord, aSighting, P1, P2, S1, S2, statesOf } from "../../../test/harness/sightings.ts";
import { Sessions } from "./sessions.ts";

const ids = (sessions: Sessions, now: number) => sessions.list(now).map((e) => e.session_id);
const look = (sessions: Sessions, checks: Record<number, string>, now: number) =>
  sessions.look(new Map(Object.entries(checks).map(([pid, check]) => [Number(pid), check])), now);

test("a silent session ages out after 300 s, when its deadline says", () => {
  const sessions = new Sessions();
  sessions.observe(aSighting({ event: "stop" }), 1000);
  expect(sessions.nextDeadline()).toBe(301_000);
  expect(ids(sessions, 300_999)).toEqual([S1]);
  expect(ids(sessions, 301_000)).toEqual([]);
  expect(sessions.advance(301_000)).toBe(true);
  expect(sessions.nextDeadline()).toBeUndefined();
});

test("an ended session is listed for ten seconds", () => {
  const sessions = new Sessions();
  sessions.observe(aSighting(), 0);
  expect(sessions.end({ session_id: S1, reason: "other" }, 1000)).toEqual({
    ended: true,
    changed: true,
  });
  expect(sessions.list(10_999)[0]).toMatchObject({ state: "ended", last_event: "session_end" });
  expect(sessions.nextDeadline()).toBe(11_000);
  expect(ids(sessions, 11_000)).toEqual([]);
  expect(sessions.end({ session_id: S1 }, 12_000).ended).toBe(false);
});

test("after an end, growth and discovery revive nothing; an event does", () => {
  const sessions = new Sessions();
  sessions.observe(aSighting(), 0);
  sessions.end({ session_id: S1 }, 1000);
  sessions.observe(aSighting({ event: "transcript_grew" }), 2000);
  expect(statesOf(sessions.list(2000))).toEqual({ S1: "ended" });

  sessions.advance(11_000);
  sessions.observe(aSighting({ event: "transcript_grew" }), 11_500, 1500);
  sessions.observe(aSighting({ event: "transcript_discovered" }), 12_000, 1500);
  expect(ids(sessions, 12_000)).toEqual([]);

  sessions.observe(aSighting({ event: "session_start" }), 13_000);
  expect(statesOf(sessions.list(13_000))).toEqual({ S1: "starting" });
});

test("a transcript that goes on growing long after an end is a session again", () => {
  const sessions = new Sessions();
  sessions.observe(aSighting(), 0);
  sessions.end({ session_id: S1 }, 1000);
  sessions.advance(20_000);
  sessions.observe(aSighting({ event: "transcript_grew" }), 30_000);
  expect(statesOf(sessions.list(30_000))).toEqual({ S1: "working" });
});

test("nothing older than 300 s is announced", () => {
  const sessions = new Sessions();
  expect(sessions.observe(aSighting({ event: "transcript_discovered" }), 400_000, 99_999)).toBe(
    false,
  );
  expect(sessions.observe(aSighting({ event: "transcript_discovered" }), 400_000, 100_001)).toBe(
    true,
  );
});

test("the end of a replaced process is ignored; the owner's, a stranger's and nobody's count", () => {
  for (const [pid, isEnded] of [
    [P1, false],
    [P2, true],
    [9999, true],
    [undefined, true],
  ] as const) {
    const sessions = new Sessions();
    sessions.observe(aSighting({ pid: P1 }), 0);
    sessions.observe(aSighting({ pid: P2 }), 10);
    expect(sessions.end({ session_id: S1, pid }, 20).ended, String(pid)).toBe(isEnded);
  }
});

test("a replaced process moves no state and revives no ended row, unless it is confirmed alive", () => {
  const sessions = new Sessions();
  sessions.observe(aSighting({ pid: P1 }), 0);
  sessions.observe(aSighting({ pid: P2, event: "stop" }), 10);
  sessions.observe(aSighting({ pid: P1, event: "user_prompt_submit", model: "opus" }), 20);
  expect(sessions.list(20)[0]).toMatchObject({ state: "idle", model: "opus", pid: P2 });

  sessions.end({ session_id: S1, pid: P2 }, 30);
  sessions.observe(aSighting({ pid: P1, event: "user_prompt_submit" }), 40);
  expect(sessions.list(40)[0]?.state).toBe("ended");

  const both = new Sessions();
  both.observe(aSighting({ pid: P1 }), 0);
  both.observe(aSighting({ pid: P2, event: "stop" }), 10);
  look(both, { [P1]: "900", [P2]: "950" }, 15);
  both.observe(aSighting({ pid: P1, event: "user_prompt_submit" }), 20);
  expect(both.list(20)[0]).toMatchObject({ state: "working", pid: P2 });
});

test("only eight replaced pids are remembered, the oldest forgotten first", () => {
  const sessions = new Sessions();
  for (let pid = 1; pid <= 10; pid++) sessions.observe(aSighting({ pid }), pid);
  expect(sessions.end({ session_id: S1, pid: 2 }, 20).ended).toBe(false);
  expect(sessions.end({ session_id: S1, pid: 1 }, 20).ended).toBe(true);
});

test("B1: a confirmed process dies: its session goes at once", () => {
  const sessions = new Sessions();
  sessions.observe(aSighting({ pid: P1 }), 0);
  sessions.observe(aSighting({ pid: P1, event: "user_prompt_submit" }), 10);
  look(sessions, { [P1]: "900" }, 20);
  expect(look(sessions, { [P1]: "gone" }, 1000)).toBe(true);
  expect(ids(sessions, 1000)).toEqual([]);
});

test("B2: a pid with another start time is another process", () => {
  const sessions = new Sessions();
  sessions.observe(aSighting({ pid: P1, event: "user_prompt_submit" }), 0);
  look(sessions, { [P1]: "900" }, 20);
  look(sessions, { [P1]: "2500" }, 1000);
  expect(ids(sessions, 1000)).toEqual([]);
});

test("a pid that was never seen alive proves nothing by being gone", () => {
  const sessions = new Sessions();
  sessions.observe(aSighting({ pid: P1, event: "user_prompt_submit" }), 0);
  expect(look(sessions, { [P1]: "gone" }, 1000)).toBe(false);
  expect(ids(sessions, 1000)).toEqual([S1]);
});

test("B3: an idle session whose process lives stays for hours, with its age", () => {
  const sessions = new Sessions();
  sessions.observe(aSighting({ pid: P1, event: "user_prompt_submit" }), 0);
  sessions.observe(aSighting({ pid: P1, event: "stop" }), 1000);
  const hours6 = 6 * 3_600_000;
  for (let now = 2000; now <= hours6; now += 10_000) look(sessions, { [P1]: "900" }, now);
  expect(sessions.list(hours6)[0]).toMatchObject({
    state: "idle",
    state_since: "1970-01-01T00:00:01.000Z",
  });
});

test("B5: a check that could not be made changes nothing", () => {
  const sessions = new Sessions();
  sessions.observe(aSighting({ pid: P1, event: "user_prompt_submit" }), 0);
  look(sessions, { [P1]: "900" }, 10);
  for (let now = 10_000; now <= 900_000; now += 10_000) look(sessions, {}, now);
  expect(ids(sessions, 900_000)).toEqual([S1]);
});

test("a live process keeps no session that was never prompted", () => {
  const sessions = new Sessions();
  sessions.observe(aSighting({ pid: P1, event: "session_start" }), 0);
  for (let now = 0; now <= 300_000; now += 10_000) look(sessions, { [P1]: "900" }, now);
  expect(ids(sessions, 300_000)).toEqual([]);
});

test("a live process keeps only its most recently active session", () => {
  const sessions = new Sessions();
  for (const [id, now] of [
    [S1, 0],
    [S2, 10],
  ] as const) {
    sessions.observe(aSighting({ session_id: id, pid: P1, event: "user_prompt_submit" }), now);
  }
  const keepLooking = (from: number, to: number) => {
    for (let now = from; now <= to; now += 10_000) look(sessions, { [P1]: "900" }, now);
  };
  keepLooking(20, 290_020);
  sessions.observe(aSighting({ session_id: S1, pid: P1, event: "stop" }), 295_000);
  keepLooking(300_020, 700_020);
  expect(ids(sessions, 700_020)).toEqual([S1]);
});

test("B7: two sessions in one folder are two rows", () => {
  const sessions = new Sessions();
  for (let now = 0; now < 20; now++) {
    const [session_id, pid] = now % 2 ? [S1, P1] : [S2, P2];
    sessions.observe(aSighting({ session_id, pid, cwd: "/w/app", event: "post_tool_use" }), now);
    if (now > 0) expect(ids(sessions, now)).toEqual([S1, S2]);
  }
});

test("B11: a record found at the start is a row with folder, state and the time it began", () => {
  const sessions = new Sessions();
  sessions.record(aRecord({ statusAt: 5000, startedAt: 1000, cwd: "/w/app" }), 9_000_000);
  expect(sessions.list(9_000_000)).toEqual([
    {
      session_id: S1,
      agent: "claude",
      cwd: "/w/app",
      state: "idle",
      source: { kind: "terminal" },
      last_event: { process_record: "idle" },
      started_at: "1970-01-01T00:00:01.000Z",
      last_seen: "1970-01-01T00:00:05.000Z",
      state_since: "1970-01-01T00:00:05.000Z",
      pid: P1,
    },
  ]);
});

test("a process that moves to another session leaves one row", () => {
  const sessions = new Sessions();
  sessions.record(aRecord({ statusAt: 10 }), 10);
  sessions.record(aRecord({ sessionId: S2, statusAt: 20 }), 21);
  expect(ids(sessions, 21)).toEqual([S2]);
});

test("a record that its owner removed ends the session, a lost folder does not", () => {
  const sessions = new Sessions();
  sessions.record(aRecord({ state: "working", word: "busy" }), 0);
  sessions.recordGone(P1, "lost", 10);
  expect(statesOf(sessions.list(10))).toEqual({ S1: "working" });
  sessions.record(aRecord({ statusAt: 15 }), 20);
  sessions.recordGone(P1, "removed", 30);
  expect(statesOf(sessions.list(30))).toEqual({ S1: "ended" });
  expect(ids(sessions, 10_030)).toEqual([]);
});

test("a spare process of an editor ages out until it is prompted, a terminal's stays", () => {
  const spare = new Sessions();
  spare.record(aRecord({ interactive: false }), 0);
  spare.record(aRecord({ sessionId: S2, pid: P2, startToken: "1" }), 0);
  for (let now = 0; now <= 300_000; now += 10_000) look(spare, { [P1]: "900", [P2]: "1" }, now);
  expect(ids(spare, 300_000)).toEqual([S2]);
  spare.record(
    aRecord({ interactive: false, state: "working", word: "busy", statusAt: 310_000 }),
    310_000,
  );
  expect(ids(spare, 310_000)).toEqual([S1, S2]);
});

test("a record left behind by a dead process takes a row that only its file spoke for", () => {
  const sessions = new Sessions();
  sessions.observe(aSighting({ event: "transcript_discovered" }), 1000, 500);
  expect(sessions.recordStale(S1, P1, 400, 1001)).toBe(true);
  sessions.observe(aSighting({ event: "transcript_grew" }), 1100, 600);
  expect(ids(sessions, 1100)).toEqual([]);

  const resumed = new Sessions();
  resumed.record(aRecord({ pid: P2, startToken: "950" }), 1000);
  expect(resumed.recordStale(S1, P1, 400, 1001)).toBe(false);
  expect(ids(resumed, 1001)).toEqual([S1]);
});

test("an end that nobody vouches for does not hide a session whose process still names it", () => {
  const sessions = new Sessions();
  sessions.record(aRecord({ state: "working", word: "busy", statusAt: 10 }), 10);
  sessions.end({ session_id: S1 }, 20);
  expect(statesOf(sessions.list(20))).toEqual({ S1: "ended" });
  sessions.advance(10_020);
  expect(statesOf(sessions.list(10_020))).toEqual({ S1: "working" });
});

test("the agent is fixed by the first sighting, and a missing field erases nothing", () => {
  const sessions = new Sessions();
  sessions.observe(aSighting({ agent: "codex", cwd: "/w/app", model: "gpt", repo: "app" }), 0);
  sessions.observe(aSighting({ agent: "claude" }), 10);
  expect(sessions.list(10)[0]).toMatchObject({
    agent: "codex",
    cwd: "/w/app",
    model: "gpt",
    repo: "app",
  });
  sessions.observe(aSighting({ model: "gpt-2" }), 20);
  expect(sessions.list(20)[0]?.model).toBe("gpt-2");
});

test("visible changes are told, mere signs of life are not", () => {
  const sessions = new Sessions();
  const prompt = aSighting({ event: "user_prompt_submit" });
  expect(sessions.observe(prompt, 0)).toBe(true);
  expect(sessions.observe(prompt, 10)).toBe(false);
  expect(sessions.observe({ ...prompt, model: "opus" }, 20)).toBe(true);
  expect(sessions.observe({ ...prompt, model: "opus" }, 30)).toBe(false);
  const window = { key: "k", folders: ["/w"], tabs: 1, terminals: 0 };
  expect(sessions.window(window, 40)).toBe(false);
  sessions.observe({ ...prompt, cwd: "/w/app" }, 50);
  expect(sessions.window(window, 60)).toBe(false);
  expect(sessions.window({ ...window, tabs: 0 }, 70)).toBe(true);
});

test("at the cap the longest-silent session goes, of equals the lowest id", () => {
  const sessions = new Sessions();
  const name = (i: number) => `s${String(i).padStart(3, "0")}`;
  for (let i = 0; i < 512; i++) sessions.observe(aSighting({ session_id: name(i) }), i < 2 ? 0 : i);
  expect(ids(sessions, 600)).toHaveLength(512);
  sessions.observe(aSighting({ session_id: name(512) }), 600);
  expect(ids(sessions, 600)).toHaveLength(512);
  expect(ids(sessions, 600)).not.toContain(name(0));
  expect(ids(sessions, 600)).toContain(name(1));
});

test("a session that went for want of room comes back when there is some", () => {
  const sessions = new Sessions();
  sessions.record(aRecord({ statusAt: 1, state: "waiting_for_input", word: "waiting" }), 1);
  for (let i = 0; i < 512; i++) {
    const fields = { pid: 10_000 + i, sessionId: `s${i}`, statusAt: 10 + i, startToken: String(i) };
    sessions.record(aRecord(fields), 600);
  }
  expect(ids(sessions, 700)).not.toContain(S1);
  look(sessions, { [P1]: "900" }, 700);
  expect(ids(sessions, 700)).not.toContain(S1);
  expect(look(sessions, { [P1]: "900", 10000: "gone" }, 800)).toBe(true);
  look(sessions, { [P1]: "900" }, 900);
  expect(statesOf(sessions.list(900))).toMatchObject({ S1: "waiting_for_input" });
});

test("at the cap a session whose process lives outlasts those that only spoke later", () => {
  const sessions = new Sessions();
  sessions.record(aRecord({ statusAt: 1 }), 1);
  for (let i = 0; i < 600; i++) sessions.observe(aSighting({ session_id: `s${i}` }), 10 + i);
  expect(ids(sessions, 700)).toContain(S1);
});

test("a session belongs to the window around its folder: whole components, the lowest key", () => {
  const sessions = new Sessions();
  sessions.observe(aSighting({ cwd: "/w/app/" }), 0);
  const source = () => sessions.list(0)[0]?.source;
  const report = (key: string, folder: string, tabs = 1) =>
    sessions.window({ key, folders: [folder], tabs, terminals: 0 }, 0);
  report("c", "/w/ap");
  expect(source()).toEqual({ kind: "terminal" });
  report("b", "/w/app");
  expect(source()).toEqual({ kind: "vs_code", window_key: "b" });
  report("a", "/w//");
  expect(source()).toEqual({ kind: "vs_code", window_key: "a" });
  report("a", "/w", 0);
  expect(source()).toEqual({ kind: "vs_code", window_key: "b" });
  expect(sessions.windowUnregister("b", 0)).toEqual({ removed: true, changed: true });
  expect(sessions.windowUnregister("b", 0)).toEqual({ removed: false, changed: false });
});

test("two spellings of one folder match once their links are known", () => {
  const sessions = new Sessions();
  sessions.observe(aSighting({ cwd: "/home/me/link/sub" }), 0);
  sessions.window({ key: "a", folders: ["/data/app/"], tabs: 0, terminals: 1 }, 0);
  expect(sessions.list(0)[0]?.source.kind).toBe("terminal");
  expect(sessions.place("/home/me/link/sub", { real: "/data/app/sub" }, 0)).toBe(true);
  expect(sessions.list(0)[0]?.source.kind).toBe("vs_code");
});

test("a window that is not refreshed for 30 s is forgotten", () => {
  const sessions = new Sessions();
  sessions.observe(aSighting({ cwd: "/w" }), 0);
  sessions.window({ key: "a", folders: ["/w"], tabs: 1, terminals: 0 }, 1000);
  expect(sessions.nextDeadline()).toBe(31_000);
  expect(sessions.list(30_999)[0]?.source.kind).toBe("vs_code");
  expect(sessions.advance(31_000)).toBe(true);
  expect(sessions.list(31_000)[0]?.source.kind).toBe("terminal");
});

test("B13: a folder that vanished keeps its repository's name; one outside any has none", () => {
  const sessions = new Sessions();
  sessions.observe(aSighting({ cwd: "/w/app" }), 0);
  sessions.place("/w/app", { real: "/w/app", repo: "app" }, 1);
  sessions.place("/w/app", {}, 2);
  expect(sessions.list(2)[0]?.repo).toBe("app");
  sessions.observe(aSighting({ cwd: "/tmp" }), 3);
  sessions.place("/tmp", { repo: null }, 4);
  expect(sessions.list(4)[0]).not.toHaveProperty("repo");
});

test("a repository that a reporter named is not looked up over", () => {
  const sessions = new Sessions();
  sessions.observe(aSighting({ cwd: "/w/app", repo: "mine" }), 0);
  sessions.place("/w/app", { repo: "app" }, 1);
  expect(sessions.list(1)[0]?.repo).toBe("mine");
});

test("rows are sorted by repository, those without one first, then by id", () => {
  const sessions = new Sessions();
  const rows = [
    ["c", "b"],
    ["b", undefined],
    ["a", "b"],
    ["d", "a"],
  ] as const;
  for (const [session_id, repo] of rows) sessions.observe(aSighting({ session_id, repo }), 0);
  expect(ids(sessions, 0)).toEqual(["b", "d", "a", "c"]);
});

test("after a sleep nothing ages out before the process table was looked at again", () => {
  const sessions = new Sessions();
  sessions.observe(aSighting({ pid: P1, event: "user_prompt_submit" }), 0);
  sessions.observe(aSighting({ session_id: S2, event: "stop" }), 0);
  look(sessions, {}, 1000);
  const later = 8 * 3_600_000;
  sessions.advance(later);
  expect(ids(sessions, later)).toEqual([S1, S2]);
  look(sessions, { [P1]: "900" }, later + 10);
  expect(ids(sessions, later + 10)).toEqual([S1]);
});

test("a clock that goes back neither freezes what comes next nor makes rows immortal", () => {
  const sessions = new Sessions();
  sessions.observe(aSighting({ event: "user_prompt_submit" }), 10_000_000);
  sessions.observe(aSighting({ event: "stop" }), 5000);
  expect(sessions.list(5000)[0]).toMatchObject({
    state: "idle",
    last_seen: "1970-01-01T00:00:05.000Z",
    state_since: "1970-01-01T00:00:05.000Z",
  });
  expect(ids(sessions, 305_000)).toEqual([]);
});

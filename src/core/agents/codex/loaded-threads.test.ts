import { expect, test } from "vitest";
import { MAX_SESSIONS } from "../../protocol/limits.ts";
import type { Report } from "../../protocol/report.ts";
import type { Doing, Thread } from "./app-server.ts";
import { LoadedThreads } from "./loaded-threads.ts";

const thread = (id: string, doing: Doing = "idle", more: Partial<Thread> = {}): Thread => ({
  id,
  session: id,
  doing,
  headless: false,
  fields: { cwd: "/w" },
  ...more,
});
const started = (...more: Parameters<typeof thread>) =>
  ({ kind: "started", thread: thread(...more) }) as const;
const status = (id: string, doing?: Doing, at?: number) => ({
  kind: "status" as const,
  id,
  ...(doing === undefined ? {} : { doing }),
  ...(at === undefined ? {} : { at }),
});

/** Reports in short: `a working`, `a end`. */
const short = (reports: readonly Report[]) =>
  reports.map((report) => {
    if (report.kind === "end") return `${report.ending.session_id} end`;
    if (report.kind === "stream_lost") return `${report.sessionId} lost`;
    if (report.kind !== "sighting") return report.kind;
    const { session_id, event } = report.sighting;
    return `${session_id} ${typeof event === "object" && "stream_state" in event ? event.stream_state : "?"}`;
  });

test("a thread that starts is told whole, later only what it does", () => {
  const threads = new LoadedThreads();
  const statement = (state: string, at: number, more = {}) => ({
    kind: "sighting",
    sighting: { session_id: "a", agent: "codex", event: { stream_state: state }, ...more },
    at,
  });
  expect(threads.take({ ...started("a"), at: 10 }, 12)).toEqual([
    statement("idle", 10, { cwd: "/w" }),
  ]);
  expect(threads.take(status("a", "working", 20), 21)).toEqual([statement("working", 20)]);
  const asked = threads.mark();
  expect(threads.take(status("a", "working", 30), 31)).toEqual([]);
  expect(threads.repeat(asked, 40)).toEqual([]);
  expect(threads.repeat(threads.mark(), 40)).toEqual([statement("working", 40)]);
});

test("a run without anybody at it is marked", () => {
  const [report] = new LoadedThreads().take(started("a", "idle", { headless: true }), 1);
  expect(report).toMatchObject({ sighting: { headless: true } });
});

test("a thread of which only the id is known is told once it was read", () => {
  const threads = new LoadedThreads();
  expect(threads.take(status("a", "working"), 1)).toEqual([]);
  expect([threads.takeUnread(), threads.takeUnread()]).toEqual([["a"], []]);
  expect(short(threads.takeRead(thread("a", "working"), threads.mark(), 2))).toEqual(["a working"]);
});

test("a status that is not known changes nothing", () => {
  const threads = new LoadedThreads();
  threads.take(started("a", "working"), 1);
  expect(threads.take(status("a"), 2)).toEqual([]);
  expect(short(threads.repeat(threads.mark(), 3))).toEqual(["a working"]);
});

test("what was heard after a question is newer than its answer", () => {
  const threads = new LoadedThreads();
  threads.takeList(["a", "b"], threads.mark(), 1);
  const asked = threads.mark();
  threads.take(status("a", "waiting_for_input"), 2);
  threads.take(status("b", "closed"), 2);
  threads.take(status("c", "idle"), 2);
  expect(short(threads.takeRead(thread("a", "idle"), asked, 3))).toEqual(["a waiting_for_input"]);
  expect(threads.takeRead(thread("b", "idle"), asked, 3)).toEqual([]);
  expect(threads.takeList(["a"], asked, 3)).toEqual([]);
  expect(threads.takeUnread()).toContain("c");
});

test("a thread that is not loaded any more is over, however that is learnt", () => {
  const threads = new LoadedThreads();
  for (const id of ["a", "b", "c", "d"]) threads.take(started(id), 1);
  expect(short(threads.take(status("a", "closed"), 2))).toEqual(["a end"]);
  expect(threads.take(status("a", "closed"), 3)).toEqual([]);
  expect(short(threads.takeList(["c", "d"], threads.mark(), 4))).toEqual(["b end"]);
  expect(short(threads.takeRead(thread("c", "closed"), threads.mark(), 5))).toEqual(["c end"]);
  expect(short(threads.repeat(threads.mark(), 6))).toEqual(["d idle"]);
});

test("what was not told is not ended", () => {
  const threads = new LoadedThreads();
  threads.take(started("title", "working", { session: undefined } as never), 1);
  threads.take(status("unread", "idle"), 1);
  expect(threads.take(status("title", "closed"), 2)).toEqual([]);
  expect(threads.take(status("unread", "closed"), 2)).toEqual([]);
  expect(threads.lose()).toEqual([]);
});

test("a session asks what its subagents ask, and is otherwise what it is itself", () => {
  const threads = new LoadedThreads();
  const tell = (id: string, doing: Doing) => short(threads.take(status(id, doing), 5));
  threads.take(started("a", "working"), 1);
  threads.take(started("sub", "idle", { session: "a" }), 2);
  threads.take(started("other", "working", { session: "b" }), 2);
  expect([
    tell("sub", "working"),
    tell("a", "idle"),
    tell("sub", "waiting_for_permission"),
    tell("a", "waiting_for_input"),
    tell("sub", "failed"),
    tell("a", "idle"),
    tell("sub", "working"),
    tell("sub", "closed"),
    tell("a", "closed"),
  ]).toEqual([
    [],
    ["a idle"],
    ["a waiting_for_permission"],
    [],
    ["a waiting_for_input"],
    ["a idle"],
    [],
    [],
    ["a end"],
  ]);
});

test("an error is told beside the state, once for each turn", () => {
  const threads = new LoadedThreads();
  threads.take(started("a", "working"), 1);
  expect(threads.take(status("a", "failed"), 2)[0]).toEqual({
    kind: "event",
    event: {
      sessionId: "a",
      agent: "codex",
      event: "stop",
      name: "systemError",
      signals: [{ kind: "turn_ended", error: "system_error" }],
      fields: {},
    },
    at: 2,
  });
  expect(short(threads.repeat(threads.mark(), 3))).toEqual(["a idle"]);
  expect(short(threads.takeRead(thread("a", "failed"), threads.mark(), 4))).toEqual(["a idle"]);
});

test("time does not go back for a session, and its evidence is not of the future", () => {
  const threads = new LoadedThreads();
  const atOf = ([report]: Report[]) => report && "at" in report && report.at;
  threads.take(started("a"), 10);
  threads.repeat(threads.mark(), 30);
  expect(atOf(threads.take(status("a", "working", 29), 31))).toBe(30);
  expect(atOf(threads.take(status("a", "idle", 99), 32))).toBe(32);
  expect(atOf(threads.take(status("a", "closed", 5), 33))).toBe(32);
});

test("after a gap every thread is read anew, and told of again", () => {
  const threads = new LoadedThreads();
  threads.take(started("a", "working"), 1);
  threads.renew();
  threads.takeList(["a"], threads.mark(), 2);
  expect(threads.takeUnread()).toEqual(["a"]);
  const [report] = threads.takeRead(thread("a", "idle"), threads.mark(), 3);
  expect(report).toMatchObject({ sighting: { cwd: "/w", event: { stream_state: "idle" } } });
});

test("a lost server ends nobody, and nothing of it is repeated", () => {
  const threads = new LoadedThreads();
  threads.take(started("a"), 1);
  threads.take(started("b"), 1);
  expect(short(threads.lose())).toEqual(["a lost", "b lost"]);
  expect([threads.repeat(threads.mark(), 2), threads.lose()]).toEqual([[], []]);
});

test("a thread that cannot be read is asked for again when it is next heard of", () => {
  const threads = new LoadedThreads();
  threads.take(status("a", "idle"), 1);
  threads.takeUnread();
  threads.giveUp("a");
  expect(threads.takeUnread()).toEqual([]);
  threads.take(status("a", "working"), 2);
  expect(threads.takeUnread()).toEqual(["a"]);
});

test("no more threads are held than sessions are", () => {
  const threads = new LoadedThreads();
  for (let n = 0; n <= MAX_SESSIONS; n += 1) threads.take(started(`${n}`), 1);
  expect(threads.repeat(threads.mark(), 2)).toHaveLength(MAX_SESSIONS);
});

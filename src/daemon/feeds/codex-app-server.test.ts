import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  aThread,
  FakeCodexServer,
  type FakeCodexServerOptions,
  SOCKET,
} from "../../../test/harness/codex-app-server.ts";
import { Collector } from "../../../test/harness/collector.ts";
import { FakeClock } from "../../../test/harness/fake-clock.ts";
import { S1, S2 } from "../../../test/harness/sightings.ts";
import type { Report } from "../../core/protocol/report.ts";
import { type Clock, systemClock } from "../../platform/clock.ts";
import { codexAppServer } from "./codex-app-server.ts";

const WORKING = { type: "active", activeFlags: [] };
const uid = process.geteuid?.() ?? -1;

let dir: string;
let home: string;
let servers: FakeCodexServer[];
let running: Collector | undefined;

beforeEach(() => {
  dir = mkdtempSync(path.join(os.tmpdir(), "omni-dev-codex-"));
  home = path.join(dir, ".codex");
  servers = [];
});
afterEach(async () => {
  await running?.stop();
  running = undefined;
  for (const server of servers) await server.stop();
  rmSync(dir, { recursive: true, force: true });
  const methods = servers.flatMap(({ received }) => received.map(({ method }) => method));
  const allowed = ["initialize", "initialized", "thread/loaded/list", "thread/read"];
  expect(methods.filter((method) => !allowed.includes(method))).toEqual([]);
});

function server(options: Partial<FakeCodexServerOptions> = {}): FakeCodexServer {
  const fake = new FakeCodexServer({ home, folder: path.join(dir, "s"), ...options });
  servers.push(fake);
  return fake;
}

function follow({ clock = systemClock, ...more }: { clock?: Clock; uid?: number } = {}): Collector {
  const { name, run } = codexAppServer({ homes: [home], uid, ...more });
  running = new Collector({ name, run: (port) => run({ ...port, clock }) });
  return running;
}

/** A report in short, with the last letters of the session's id. */
function short(report: Report): string {
  if (report.kind === "end") return `${report.ending.session_id.slice(-2)} end`;
  if (report.kind === "stream_lost") return `${report.sessionId.slice(-2)} lost`;
  if (report.kind !== "sighting") return report.kind;
  const { session_id, event } = report.sighting;
  const state = typeof event === "object" && "stream_state" in event ? event.stream_state : "?";
  return `${session_id.slice(-2)} ${state}`;
}
const a = S1.slice(-2);
const b = S2.slice(-2);
const shorts = (feed: Collector) => feed.reports.map(short);
const sees = (feed: Collector, last: string) =>
  feed.until(last, (reports) => reports.map(short).at(-1) === last);
/** Resolves when the feed has told of a problem, or of none. */
const fares = (feed: Collector, problem: RegExp | undefined) =>
  feed.until(`problem ${problem}`, () =>
    problem ? problem.test(feed.problem ?? "") : feed.problem === undefined,
  );

test("what a server has loaded is reported before the first look is over", async () => {
  const fake = await server().start();
  fake.threads.set(S1, aThread(S1, { status: WORKING }));
  fake.threads.set(S2, aThread(S2, { ephemeral: true, threadSource: "thread_title", path: null }));
  const feed = follow();
  await feed.ready;
  expect(feed.reports).toEqual([
    {
      kind: "sighting",
      sighting: {
        session_id: S1,
        agent: "codex",
        event: { stream_state: "working" },
        cwd: "/w/app",
        model: "gpt-5.4",
        transcript_path: `/home/user/.codex/sessions/rollout-${S1}.jsonl`,
      },
      at: expect.any(Number),
    },
  ]);
  expect(fake.received).toMatchObject([
    { method: "initialize", params: { clientInfo: { name: "codex_app_server_daemon" } } },
    { method: "initialized" },
    { method: "thread/loaded/list", params: {} },
    { method: "thread/read", params: { threadId: S1, includeTurns: false } },
    { method: "thread/read", params: { threadId: S2, includeTurns: false } },
  ]);
});

test("long lists come in pages", async () => {
  const fake = await server({ pageSize: 2 }).start();
  for (const id of ["t1", "t2", "t3", "t4", "t5"]) fake.threads.set(id, aThread(id));
  const feed = follow();
  await feed.ready;
  expect(shorts(feed)).toEqual(["t1 idle", "t2 idle", "t3 idle", "t4 idle", "t5 idle"]);
});

test("a server that comes later is noticed, and so is what its threads do", async () => {
  const feed = follow();
  await feed.ready;
  const fake = await server().start();
  await fake.until("question", () => fake.received.length >= 3);
  fake.open(S1);
  await sees(feed, `${a} idle`);
  fake.status(S1, WORKING);
  fake.status(S1, { type: "active", activeFlags: ["waitingOnApproval"] });
  fake.status(S1, { type: "somethingNew" });
  fake.tell("thread/name/updated", { threadId: S1, threadName: "what the user asked first" });
  fake.status(S1, { type: "idle" });
  fake.closeThread(S1);
  await sees(feed, `${a} end`);
  const states = ["idle", "working", "waiting_for_permission", "idle", "end"];
  expect(shorts(feed)).toEqual(states.map((state) => `${a} ${state}`));
  expect(JSON.stringify(feed.reports)).not.toContain("asked first");
});

test("a thread that is only heard of, as a resumed one, is read", async () => {
  const fake = await server().start();
  const feed = follow();
  await feed.ready;
  fake.threads.set(S1, aThread(S1, { source: "exec" }));
  fake.status(S1, WORKING);
  await sees(feed, `${a} working`);
  expect(feed.reports[0]).toMatchObject({ sighting: { cwd: "/w/app", headless: true } });
});

test("a server that stops or is killed ends no session; the next one is followed at once", async () => {
  const first = await server().start();
  first.threads.set(S1, aThread(S1));
  const feed = follow();
  await sees(feed, `${a} idle`);
  await first.stop();
  await sees(feed, `${a} lost`);
  const second = await server().start();
  second.open(S2);
  await sees(feed, `${b} idle`);
  await second.kill();
  await sees(feed, `${b} lost`);
  const third = await server().start();
  third.open(S1, { status: WORKING });
  await sees(feed, `${a} working`);
  expect(feed.problem).toBeUndefined();
});

test("a new server is followed though the old one goes on", async () => {
  const old = await server().start();
  old.threads.set(S1, aThread(S1));
  const feed = follow();
  await sees(feed, `${a} idle`);
  const fake = server();
  fake.threads.set(S2, aThread(S2));
  await fake.start();
  await sees(feed, `${b} idle`);
  expect(shorts(feed)).toEqual([`${a} idle`, `${a} lost`, `${b} idle`]);
  expect(old.goodbyes).toEqual([1000]);
});

test("a link that leads nowhere, or to where nobody listens, is no problem", async () => {
  mkdirSync(path.dirname(path.join(home, SOCKET)), { recursive: true });
  symlinkSync(path.join(dir, "gone", "1.sock"), path.join(home, SOCKET));
  const feed = follow();
  await feed.ready;
  const killed = await server().start();
  await killed.until("client", () => killed.clients === 1);
  await killed.kill();
  const fake = await server().start();
  fake.open(S1);
  await sees(feed, `${a} idle`);
  expect(feed.problem).toBeUndefined();
});

test("what is no socket is left alone, as is a server that belongs to somebody else", async () => {
  mkdirSync(path.join(home, SOCKET), { recursive: true });
  const feed = follow({ uid: uid + 1 });
  await feed.ready;
  expect(feed.problem).toBeUndefined();
  rmSync(path.join(home, SOCKET), { recursive: true });
  const fake = await server().start();
  await fares(feed, /another user/);
  expect(fake.received).toEqual([]);
});

test.each(["no upgrade", "no answers"] as const)(
  "a server that hangs is left after five seconds, and tried again: %s",
  async (fault) => {
    const fake = await server({ fault }).start();
    fake.threads.set(S1, aThread(S1));
    const clock = new FakeClock();
    const feed = follow({ clock });
    const isAsked = () => (fault === "no upgrade" ? fake.connections : fake.received.length) > 0;
    await fake.until("question", isAsked);
    clock.advance(5000);
    await fares(feed, /does not answer/);
    await feed.ready;
    fake.fault = undefined;
    await pass(clock, 600);
    await sees(feed, `${a} idle`);
    await fares(feed, undefined);
  },
);

test("the pauses before a server that fails is tried again grow from half a second to ten", async () => {
  const fake = await server({ fault: "refusals" }).start();
  const clock = new FakeClock();
  const feed = follow({ clock });
  const pausesMs: number[] = [];
  for (let tries = 1; tries <= 7; tries += 1) {
    await fake.until(`try ${tries}`, () => fake.goodbyes.length === tries);
    await fares(feed, /refuses/);
    const from = clock.now();
    while (fake.connections === tries && clock.now() - from < 20_000) await pass(clock, 100);
    pausesMs.push(Math.floor((clock.now() - from) / 500) * 500);
  }
  expect(pausesMs).toEqual([500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
});

test.each([
  ["a greeting", "hello\n"],
  ["another answer", "HTTP/1.1 404 Not Found\r\n\r\n"],
  ["no text, and much of it", "\0\xff".repeat(40_000)],
])(
  "what is no WebSocket server is told as a problem, and its successor followed: %s",
  async (_, says) => {
    const other = await server({ fault: { says } }).start();
    const feed = follow();
    await fares(feed, /^Cannot follow Codex's server at /);
    await other.stop();
    const fake = await server().start();
    fake.open(S1);
    await sees(feed, `${a} idle`);
    await fares(feed, undefined);
  },
);

test("messages that nobody understands do no harm", async () => {
  const fake = await server().start();
  fake.threads.set(S1, aThread(S1));
  const feed = follow();
  await sees(feed, `${a} idle`);
  const nonsense = [
    "",
    "not json",
    "7",
    "null",
    "[]",
    '{"id":999,"result":{}}',
    '{"id":null}',
    '{"method":"thread/started","params":{"thread":7}}',
    '{"method":"thread/status/changed","params":{"threadId":["x"],"status":7}}',
    '{"method":"thread/closed"}',
  ];
  for (const text of nonsense) fake.say(text);
  fake.status(S1, WORKING);
  await sees(feed, `${a} working`);
  expect(fake.goodbyes).toEqual([]);
});

test("a message that is too long ends the connection, is told, and not for ever", async () => {
  const fake = await server().start();
  fake.threads.set(S1, aThread(S1));
  const feed = follow();
  await sees(feed, `${a} idle`);
  fake.say("x".repeat(4 * 1024 * 1024 + 1));
  await sees(feed, `${a} lost`);
  expect(feed.problem).toMatch(/longer than 4194304 bytes/);
  await sees(feed, `${a} idle`);
  await fares(feed, undefined);
});

test("what still is so is said again every half minute, as of then", async () => {
  const fake = await server().start();
  fake.threads.set(S1, aThread(S1, { status: WORKING }));
  const clock = new FakeClock();
  const feed = follow({ clock });
  await feed.ready;
  feed.reports.length = 0;
  clock.advance(29_999);
  expect(feed.reports).toEqual([]);
  clock.advance(1);
  await sees(feed, `${a} working`);
  const event = { stream_state: "working" };
  expect(feed.reports).toEqual([
    { kind: "sighting", sighting: { session_id: S1, agent: "codex", event }, at: clock.now() },
  ]);
});

test("a server that falls silent is believed no longer", async () => {
  const fake = await server().start();
  fake.threads.set(S1, aThread(S1, { status: WORKING }));
  const clock = new FakeClock();
  const feed = follow({ clock });
  await feed.ready;
  fake.fault = "no answers";
  const asked = fake.received.length;
  clock.advance(30_000);
  await fake.until("question", () => fake.received.length > asked);
  clock.advance(5000);
  await sees(feed, `${a} lost`);
  expect(shorts(feed)).toEqual([`${a} working`, `${a} lost`]);
});

test("what was missed is found at the next question", async () => {
  const fake = await server().start();
  fake.threads.set(S1, aThread(S1));
  const clock = new FakeClock();
  const feed = follow({ clock });
  await feed.ready;
  fake.threads.delete(S1);
  fake.threads.set(S2, aThread(S2, { status: WORKING }));
  clock.advance(30_000);
  await sees(feed, `${b} working`);
  expect(shorts(feed)).toEqual([`${a} idle`, `${a} end`, `${b} working`]);
});

test("it answers nothing, and leaves the threads that it was made a subscriber of", async () => {
  const fake = await server().start();
  fake.threads.set(S1, aThread(S1));
  const clock = new FakeClock();
  const feed = follow({ clock });
  await feed.ready;
  const sub = { sessionId: S1, parentThreadId: S1, threadSource: "subagent" };
  fake.threads.set(S2, aThread(S2, sub));
  fake.tell("item/commandExecution/requestApproval", { threadId: S2 }, 0);
  fake.tell("item/agentMessage/delta", { threadId: S2, delta: "secret" });
  fake.status(S2, { type: "active", activeFlags: ["waitingOnApproval"] });
  await sees(feed, `${a} waiting_for_permission`);
  expect(fake.goodbyes).toEqual([]);
  clock.advance(30_000);
  await fake.until("goodbye", () => fake.goodbyes.length === 1);
  fake.threads.set(S2, aThread(S2, { ...sub, status: WORKING }));
  while (fake.connections === 1) await pass(clock, 100);
  await sees(feed, `${a} idle`);
  clock.advance(30_000);
  await feed.until("repetition", (reports) => reports.at(-1)?.kind === "sighting");
  expect(shorts(feed)).not.toContain(`${a} lost`);
  expect([fake.goodbyes, fake.connections]).toEqual([[1000], 2]);
  expect(fake.received.filter((message) => !("method" in message))).toEqual([]);
});

test("a server that goes while it is left for a moment is lost", async () => {
  const fake = await server().start();
  fake.threads.set(S1, aThread(S1));
  const clock = new FakeClock();
  const feed = follow({ clock });
  await feed.ready;
  fake.tell("turn/started", { threadId: S2 });
  fake.status(S1, WORKING);
  await sees(feed, `${a} working`);
  clock.advance(30_000);
  await fake.until("goodbye", () => fake.goodbyes.length === 1);
  await fake.stop();
  await pass(clock, 100);
  await sees(feed, `${a} lost`);
});

test("each home has its server", async () => {
  const other = path.join(dir, "profile");
  const [one, two] = [await server().start(), await server({ home: other }).start()];
  one.threads.set(S1, aThread(S1));
  two.threads.set(S2, aThread(S2, { status: WORKING }));
  running = new Collector(codexAppServer({ homes: [home, other], uid }));
  await running.ready;
  expect(shorts(running).sort()).toEqual([`${a} idle`, `${b} working`].sort());
  await one.stop();
  await sees(running, `${a} lost`);
});

test("it says goodbye when it is stopped, and reports nothing more", async () => {
  const fake = await server().start();
  fake.threads.set(S1, aThread(S1));
  const feed = follow();
  await feed.ready;
  await feed.stop();
  await fake.until("goodbye", () => fake.goodbyes.length === 1);
  expect([fake.goodbyes, shorts(feed)]).toEqual([[1000], [`${a} idle`]]);
});

test("it can be stopped while a server leaves it waiting", async () => {
  const fake = await server({ fault: "no upgrade" }).start();
  const feed = follow();
  await fake.until("client", () => fake.connections > 0);
  await feed.stop();
  expect(feed.reports).toEqual([]);
});

test("a report that is not taken ends the feed", async () => {
  const fake = await server().start();
  const stop = new AbortController();
  const feed = codexAppServer({ homes: [home], uid });
  const run = feed.run({
    report: () => {
      throw new Error("a bug");
    },
    health: () => {},
    ready: () => {},
    clock: systemClock,
    signal: stop.signal,
  });
  const ended = expect(run).rejects.toThrow("a bug");
  await fake.until("question", () => fake.received.length >= 3);
  fake.open(S1);
  await ended;
  await fake.until("goodbye", () => fake.goodbyes.length === 1);
});

/** Lets time pass in steps, in which what waits for it and for nothing else goes on. */
async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 20) {
    clock.advance(20);
    await new Promise(setImmediate);
  }
}

import { mkdirSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeEach, expect, test } from "vitest";
import { holdLock, type LockHolder } from "./harness/lock-holder.ts";
import { Program, pidsWith } from "./harness/program.ts";

const T1 = "01a22789-6287-7681-93a4-d27099ed339c";
const T2 = "01a2278c-b93c-7a00-9b5d-87c3b44f5df5";
const SERVER = ["codex", "app-server", "--listen", "unix://"];

let program: Program;
let codexHome: string;

beforeEach(() => {
  program = new Program();
  codexHome = path.join(program.home, ".codex");
});

const lockOf = (id: string) => path.join(codexHome, "thread-writer-locks", `${id}.lock`);
const rolloutOf = (id: string) =>
  path.join(codexHome, "sessions/2026/11/29", `rollout-2026-11-29T13-40-44-${id}.jsonl`);

/** Writes what Codex writes first into a rollout; the second line is a conversation's. */
function writeRollout(id: string, { meta = {}, ageS = 0 }: { meta?: object; ageS?: number } = {}) {
  const payload = {
    id,
    session_id: id,
    timestamp: "2026-11-29T13:40:44.809Z",
    cwd: "/w/app",
    source: "cli",
    thread_source: "user",
    base_instructions: "x".repeat(100_000),
    ...meta,
  };
  const lines = [{ type: "session_meta", payload }, { type: "response_item" }];
  mkdirSync(path.dirname(rolloutOf(id)), { recursive: true });
  writeFileSync(rolloutOf(id), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const at = Date.now() / 1000 - ageS;
  utimesSync(rolloutOf(id), at, at);
}

/** A thread that was last written to hours ago and that a process has open. */
async function openThread(name?: readonly string[], id = T1): Promise<LockHolder> {
  writeRollout(id, { ageS: 3600 });
  return holdLock(lockOf(id), name === undefined ? {} : { name });
}

const started = () => program.run("daemon", "start");
/** Nobody is left but those that are shown as ended for some seconds. */
const over = (sessions: Record<string, unknown>[]) => sessions.every((it) => it.state === "ended");
const only = (state: string) => (sessions: Record<string, unknown>[]) =>
  sessions.length === 1 && sessions[0]?.state === state;

test("an idle thread that was there before the daemon is listed at once, with its place and process", async () => {
  const { pid } = await openThread();
  await started();
  expect(await program.list()).toMatchObject([
    {
      session_id: T1,
      agent: "codex",
      state: "idle",
      cwd: "/w/app",
      transcript_path: rolloutOf(T1),
      started_at: "2026-11-29T13:40:44.809Z",
      pid,
    },
  ]);
});

test("a thread whose process is killed goes, its lock file staying behind", async () => {
  const { kill } = await openThread();
  await started();
  expect(await program.list()).toHaveLength(1);
  await kill();
  await program.sees(over);
  expect(readdirSync(path.dirname(lockOf(T1)))).toEqual([`${T1}.lock`]);
});

test("of a server that many threads share nobody is told the pid; its end ends them", async () => {
  const { kill } = await openThread(SERVER);
  await started();
  const [row] = await program.list();
  expect(row).toMatchObject({ session_id: T1, state: "idle" });
  expect(row).not.toHaveProperty("pid");
  await kill();
  await program.sees(over);
});

test("a thread that is archived ends, though it is still open, and stays so", async () => {
  await openThread(SERVER);
  await started();
  expect(await program.list()).toHaveLength(1);
  renameSync(rolloutOf(T1), path.join(codexHome, "archived.jsonl"));
  await program.sees(only("ended"));
  await program.sees((sessions) => sessions.length === 0);
  // Another thread is noticed: looks were taken since, and the first one did not come back.
  await openThread(SERVER, T2);
  await program.sees((sessions) => sessions.some((it) => it.session_id === T2));
  expect(await program.list()).toHaveLength(1);
});

test("a thread that is deleted ends", async () => {
  await openThread(SERVER);
  await started();
  expect(await program.list()).toHaveLength(1);
  rmSync(rolloutOf(T1));
  await program.sees(only("ended"));
});

test("a resumed thread is back as soon as a process has it open", async () => {
  const { kill } = await openThread();
  await started();
  await kill();
  await program.sees(over);
  const { pid } = await holdLock(lockOf(T1));
  await program.sees(([row]) => row?.state === "idle" && row.pid === pid);
});

test("a lock that is taken for a moment, to put a thread away, is no session", async () => {
  await openThread();
  writeRollout(T2, { ageS: 3600 });
  await started();
  const archiver = await holdLock(lockOf(T2), { name: ["codex", "archive", T2] });
  await archiver.kill();
  // Another thread is noticed: looks were taken since.
  const T3 = T2.replace("01a2278c", "01a2278d");
  writeRollout(T3);
  await holdLock(lockOf(T3));
  await program.sees((sessions) => sessions.some((it) => it.session_id === T3));
  expect((await program.list()).map((it) => it.session_id)).not.toContain(T2);
});

test("a daemon that starts anew lists who is there, and nobody who went while it was down", async () => {
  const first = await openThread();
  writeRollout(T2);
  const second = await holdLock(lockOf(T2), { name: SERVER });
  await started();
  expect(await program.list()).toHaveLength(2);
  for (const pid of await pidsWith(program.socket)) process.kill(pid, "SIGKILL");
  await second.kill();
  await started();
  expect(await program.list()).toMatchObject([{ session_id: T1, pid: first.pid }]);
});

test("a thread that was not prompted yet is idle, in its process's folder", async () => {
  const { pid } = await holdLock(lockOf(T1), { cwd: program.home });
  await started();
  await program.sees(only("idle"));
  expect(await program.list()).toMatchObject([{ session_id: T1, cwd: program.home, pid }]);
});

test.each([
  ["a subagent's", { session_id: T1, source: { subagent: { thread_spawn: {} } } }],
  ["one that makes a title", { thread_source: "thread_title", ephemeral: true }],
])("%s thread is no session", async (_, meta) => {
  await openThread();
  writeRollout(T2, { meta });
  await holdLock(lockOf(T2), { name: SERVER });
  await started();
  expect(await program.list()).toMatchObject([{ session_id: T1 }]);
});

test("`codex exec` is marked as a run that nobody sits at", async () => {
  writeRollout(T1, { meta: { source: "exec" } });
  await holdLock(lockOf(T1));
  await started();
  expect(await program.list()).toMatchObject([{ session_id: T1, headless: true }]);
});

test("where Codex keeps no locks, recent rollouts are listed and old ones are not", async () => {
  writeRollout(T1, { ageS: 60 });
  writeRollout(T2, { ageS: 400 });
  await started();
  expect(await program.list()).toMatchObject([{ session_id: T1, state: "idle", cwd: "/w/app" }]);
  rmSync(rolloutOf(T1));
  await program.sees(only("ended"));
});

test("no look at the locks creates a file", async () => {
  await openThread();
  writeRollout(T2);
  await started();
  expect(await program.list()).toHaveLength(1);
  expect(readdirSync(path.dirname(lockOf(T1)))).toEqual([`${T1}.lock`]);
});

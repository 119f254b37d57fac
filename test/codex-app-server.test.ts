import { rmSync } from "node:fs";
import path from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { aThread, FakeCodexServer } from "./harness/codex-app-server.ts";
import { Program } from "./harness/program.ts";

const T1 = "01a22789-6287-7681-93a4-d27099ed339c";
const T2 = "01a2278c-b93c-7a00-9b5d-87c3b44f5df5";
const WORKING = { type: "active", activeFlags: [] };

let program: Program;

beforeEach(() => {
  program = new Program();
});

function server(): FakeCodexServer {
  const home = path.join(program.home, ".codex");
  const fake = new FakeCodexServer({ home, folder: path.join(program.home, "s") });
  onTestFinished(() => fake.stop());
  return fake;
}

const is = (state: string) => (sessions: Record<string, unknown>[]) =>
  sessions.length === 1 && sessions[0]?.state === state;

test("what Codex's server says is shown as it is, and at once", async () => {
  const fake = await server().start();
  fake.threads.set(T1, aThread(T1, { cwd: program.home }));
  await program.run("daemon", "start");
  await program.sees(is("idle"));
  expect(await program.list()).toMatchObject([
    {
      session_id: T1,
      agent: "codex",
      state: "idle",
      cwd: program.home,
      model: "gpt-5.4",
      last_event: { stream_state: "idle" },
    },
  ]);
  fake.status(T1, WORKING);
  await program.sees(is("working"));
  fake.status(T1, { type: "active", activeFlags: ["waitingOnApproval"] });
  await program.sees(is("waiting_for_permission"));
  fake.status(T1, { type: "active", activeFlags: ["waitingOnUserInput"] });
  await program.sees(is("waiting_for_input"));
  fake.status(T1, { type: "systemError" });
  await program.sees(([row]) => row?.state === "idle" && row.error === "system_error");
  fake.status(T1, WORKING);
  await program.sees(([row]) => row?.state === "working" && row.error === undefined);
  fake.closeThread(T1);
  await program.sees(is("ended"));
});

test("while the server speaks, events are only kept; they count when it is gone", async () => {
  const fake = await server().start();
  await program.run("daemon", "start");
  await fake.until("client", () => fake.clients === 1);
  fake.open(T1, { status: WORKING });
  await program.sees(is("working"));
  await program.observe(T1, "stop", { agent: "codex" });
  expect(await program.list()).toMatchObject([{ state: "working", last_event: "stop" }]);
  await fake.kill();
  await program.sees(is("idle"));
});

test("a thread that is no session is not listed, nor is a server that comes late missed", async () => {
  await program.run("daemon", "start");
  const fake = await server().start();
  await fake.until("client", () => fake.clients === 1);
  fake.open(T2, { ephemeral: true, threadSource: "thread_title" });
  fake.open(T1);
  await program.sees(is("idle"));
  expect(await program.list()).toMatchObject([{ session_id: T1 }]);
});

test("a link to a server that is gone, or none at all, leaves the daemon healthy", async () => {
  const fake = await server().start();
  await fake.kill();
  rmSync(fake.socketPath);
  await program.run("daemon", "start");
  const { payload } = JSON.parse(await program.ask("daemon", "status"));
  const [sessions] = payload.services;
  expect(sessions).toMatchObject({ name: "sessions", healthy: true });
  expect(sessions.detail.feeds).toContainEqual({ feed: "codex-app-server" });
});

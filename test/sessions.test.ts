import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { PATIENCE_MS, Program, pidsWith } from "./harness/program.ts";
import { S1, S2 } from "./harness/sightings.ts";

let program: Program;
const agents: ChildProcess[] = [];

beforeEach(() => {
  program = new Program();
});
afterEach(() => {
  for (const agent of agents.splice(0)) agent.kill("SIGKILL");
});

/** Starts a process and writes what Claude would write about it. */
async function startAgent(
  fields: object = {},
  profile = ".claude",
): Promise<{ pid: number; write: (fields: object) => void }> {
  const agent = spawn("sleep", ["600"]);
  agents.push(agent);
  await once(agent, "spawn");
  const pid = agent.pid ?? 0;
  const folder = path.join(program.home, profile, "sessions");
  const record = {
    pid,
    sessionId: S1,
    procStart: readStartToken(pid),
    cwd: "/w/a/b",
    entrypoint: "cli",
    kind: "interactive",
    startedAt: Date.now(),
  };
  const write = (changed: object) => {
    mkdirSync(folder, { recursive: true });
    const text = JSON.stringify({
      ...record,
      status: "idle",
      statusUpdatedAt: Date.now(),
      ...fields,
      ...changed,
    });
    writeFileSync(path.join(folder, `${pid}.json`), text);
  };
  write({});
  return { pid, write };
}

/** The time of a process's start, as Claude notes it. */
function readStartToken(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}

const stateIn = (sessions: Record<string, unknown>[], id: string) =>
  sessions.find((entry) => entry.session_id === id)?.state;

const seesState = (state: string) => program.sees((all) => stateIn(all, S1) === state);

test("B1, B11: a session that was there first is listed at once, follows its record, and goes when killed", async () => {
  const { pid, write } = await startAgent();
  await program.run("daemon", "start");
  await seesState("idle");
  expect((await program.list())[0]).toMatchObject({ pid, cwd: "/w/a/b", agent: "claude" });
  write({ status: "waiting", waitingFor: "permission prompt" });
  await seesState("waiting_for_permission");
  process.kill(pid, "SIGKILL");
  await program.sees((all) => all.length === 0);
});

test("B8: a folder is told by a record or an event, never read back from a directory's name", async () => {
  const folder = path.join(program.home, ".claude", "projects", "-w-a-b");
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, `${S2}.jsonl`), "{}\n");
  await program.run("daemon", "start");
  await program.sees(([first]) => first?.session_id === S2);
  expect((await program.list())[0]).not.toHaveProperty("cwd");
  await startAgent({ sessionId: S2 });
  await program.sees(([first]) => first?.cwd === "/w/a/b");
});

test("B9: SDK runs are hidden by the table unless asked for, never by JSON", async () => {
  await startAgent({ entrypoint: "sdk-ts", status: "busy" });
  await program.run("daemon", "start");
  await seesState("working");
  expect((await program.run("sessions", "list")).stdout).not.toContain("working");
  expect((await program.run("sessions", "list", "--all")).stdout).toContain("working");
  expect((await program.run("sessions", "list", "-o", "json")).stdout).toContain('"headless":true');
  expect((await program.run("daemon", "status")).stdout).toContain("0 session(s)");
});

test("C13: sessions of the usual profile and of the one in CLAUDE_CONFIG_DIR are both listed", async () => {
  program.env.CLAUDE_CONFIG_DIR = path.join(program.home, "p2");
  await startAgent();
  await startAgent({ sessionId: S2 }, "p2");
  await program.run("daemon", "start");
  await program.sees((all) => all.length === 2);
});

test("B13: a folder that is removed keeps its repository's name", async () => {
  const repo = path.join(program.home, "app");
  expect(await program.spawn(["git", "init", "-q", repo]).ended()).toMatchObject({ exit: 0 });
  await program.run("daemon", "start");
  const see = () => program.observe(S1, "pre_tool_use", { cwd: repo });
  await see();
  await program.sees(([first]) => first?.repo === "app");
  rmSync(repo, { recursive: true });
  expect(await see()).toBe('{"ok":true,"payload":{"ok":true}}');
  expect((await program.list())[0]?.repo).toBe("app");
});

/** No message tells of a process that ends, so the process table is read again and again. */
const seesDaemons = (count: number) =>
  vi.waitFor(async () => expect(await pidsWith(program.socket)).toHaveLength(count), {
    timeout: PATIENCE_MS,
  });

test("a daemon that is killed hard comes back with the same table", async () => {
  await startAgent({ status: "busy" });
  await program.run("daemon", "start");
  await seesState("working");
  for (const pid of await pidsWith(program.socket)) process.kill(pid, "SIGKILL");
  await seesDaemons(0);
  expect((await program.run("sessions", "list")).exit).toBe(3);

  expect((await program.run("daemon", "start")).exit).toBe(0);
  await seesState("working");
});

test("two starts at the same instant end with one daemon", async () => {
  const started = await Promise.all([
    program.run("daemon", "start"),
    program.run("daemon", "start"),
  ]);
  expect(started.map(({ exit }) => exit)).toEqual([0, 0]);
  await seesDaemons(1);
});

test("513 sessions: the longest-silent one goes", async () => {
  await program.run("daemon", "start");
  const id = (i: number) => `${String(i).padStart(8, "0")}-1111-4111-8111-111111111111`;
  const requests = Array.from({ length: 513 }, (_, i) =>
    JSON.stringify({
      service: "sessions",
      op: "observe",
      payload: { session_id: id(i), event: "stop" },
    }),
  );
  await program.lines(`${requests.join("\n")}\n`, 513);
  const ids = (await program.list()).map((entry) => entry.session_id);
  expect(ids).toHaveLength(512);
  expect(ids).not.toContain(id(0));
  const { stdout } = await program.run("sessions", "list", "-o", "json");
  const [line] = await program.lines('{"service":"sessions","op":"list"}\n', 1);
  expect(`{"ok":true,"payload":${stdout.trim()}}`).toBe(line);
});

test("a confirmed process that dies takes the session that only hooks told of", async () => {
  await program.run("daemon", "start");
  const { pid } = await startAgent({ status: undefined });
  for (const event of ["session_start", "user_prompt_submit"])
    await program.observe(S2, event, { pid });
  expect(stateIn(await program.list(), S2)).toBe("working");
  // A process that another one replaced moves no state until the daemon has seen it alive.
  await program.observe(S1, "session_start", { pid });
  await program.observe(S1, "stop", { pid: process.pid });
  const isLookedAt = async () => {
    await program.observe(S1, "user_prompt_submit", { pid });
    expect(stateIn(await program.list(), S1)).toBe("working");
  };
  await vi.waitFor(isLookedAt, { timeout: PATIENCE_MS });
  process.kill(pid, "SIGKILL");
  await program.sees((all) => stateIn(all, S2) === undefined);
});

test("D6: with a home too long for a socket the daemon is up at a short path all know", async () => {
  const long = path.join(program.home, "h".repeat(120));
  mkdirSync(long);
  Object.assign(program.env, { HOME: long, XDG_DATA_HOME: path.join(long, "data") });
  expect(await program.run("daemon", "start")).toMatchObject({ exit: 0 });
  expect((await program.run("daemon", "status")).stdout).toContain(`${program.home}/omni-dev-`);
  expect(await program.run("sessions", "list", "-o", "json")).toEqual({
    exit: 0,
    stdout: '{"sessions":[]}\n',
    stderr: "",
  });
  expect(await program.run("daemon", "stop")).toMatchObject({ exit: 0 });
});

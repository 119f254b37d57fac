import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Program, pidsWith, readStartToken, until } from "./harness/program.ts";
import { S1, S2 } from "./harness/sightings.ts";

let program: Program;
const agents: ChildProcess[] = [];

beforeEach(() => {
  program = new Program();
});
afterEach(async () => {
  for (const agent of agents.splice(0)) agent.kill("SIGKILL");
  await program.dispose();
});

/** Starts a process and writes what Claude would write about it. */
async function startAgent(
  fields: object = {},
): Promise<{ pid: number; write: (fields: object) => void }> {
  const agent = spawn("sleep", ["600"]);
  agents.push(agent);
  await once(agent, "spawn");
  const pid = agent.pid ?? 0;
  const folder = path.join(program.home, ".claude", "sessions");
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

const stateOf = async (id = S1) =>
  (await program.list()).find((entry) => entry.session_id === id)?.state;

test("B1, B11: a session that was there first is listed at once, follows its record, and goes when killed", async () => {
  const { pid, write } = await startAgent();
  await program.run("daemon", "start");
  await until("idle row", async () => (await stateOf()) === "idle");
  expect((await program.list())[0]).toMatchObject({ pid, cwd: "/w/a/b", agent: "claude" });
  write({ status: "waiting", waitingFor: "permission prompt" });
  await until("waiting row", async () => (await stateOf()) === "waiting_for_permission");
  process.kill(pid, "SIGKILL");
  await until("no row", async () => (await program.list()).length === 0);
});

test("B8: a folder is told by a record or an event, never read back from a directory's name", async () => {
  const folder = path.join(program.home, ".claude", "projects", "-w-a-b");
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, `${S2}.jsonl`), "{}\n");
  await program.run("daemon", "start");
  await until("row", async () => (await stateOf(S2)) !== undefined);
  expect((await program.list())[0]).not.toHaveProperty("cwd");
  await startAgent({ sessionId: S2 });
  await until("folder", async () => (await program.list())[0]?.cwd === "/w/a/b");
});

test("B9: SDK runs are hidden by the table unless asked for, never by JSON", async () => {
  await startAgent({ entrypoint: "sdk-ts", status: "busy" });
  await program.run("daemon", "start");
  await until("row", async () => (await stateOf()) === "working");
  expect((await program.run("sessions", "list")).stdout).not.toContain("working");
  expect((await program.run("sessions", "list", "--all")).stdout).toContain("working");
  expect((await program.run("sessions", "list", "-o", "json")).stdout).toContain('"headless":true');
  expect((await program.run("daemon", "status")).stdout).toContain("0 session(s)");
});

test("B13: a folder that is removed keeps its repository's name", async () => {
  const repo = path.join(program.home, "app");
  const git = spawn("git", ["init", "-q", repo], { env: program.env });
  await once(git, "close");
  await program.run("daemon", "start");
  const see = () =>
    program.request("sessions", "observe", { session_id: S1, event: "pre_tool_use", cwd: repo });
  await see();
  await until("repo", async () => (await program.list())[0]?.repo === "app");
  rmSync(repo, { recursive: true });
  expect(await see()).toEqual({ ok: true, payload: { ok: true } });
  expect((await program.list())[0]?.repo).toBe("app");
});

test("a daemon that is killed hard comes back with the same table", async () => {
  await startAgent({ status: "busy" });
  await program.run("daemon", "start");
  await until("row", async () => (await stateOf()) === "working");
  const [pid] = await pidsWith(program.socket);
  process.kill(pid ?? 0, "SIGKILL");
  await until("death", async () => (await pidsWith(program.socket)).length === 0);
  expect((await program.run("sessions", "list")).code).toBe(3);

  expect((await program.run("daemon", "start")).code).toBe(0);
  await until("row", async () => (await stateOf()) === "working");
});

test("two starts at the same instant end with one daemon", async () => {
  const started = await Promise.all([
    program.run("daemon", "start"),
    program.run("daemon", "start"),
  ]);
  expect(started.map(({ code }) => code)).toEqual([0, 0]);
  await until("one daemon", async () => (await pidsWith(program.socket)).length === 1);
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
  for (const event of ["session_start", "user_prompt_submit"]) {
    await program.request("sessions", "observe", { session_id: S2, event, pid });
  }
  expect(await stateOf(S2)).toBe("working");
  // A process that another one replaced moves no state until the daemon has seen it alive.
  const see = (event: string, by: number) =>
    program.request("sessions", "observe", { session_id: S1, event, pid: by });
  await see("session_start", pid);
  await see("stop", process.pid);
  await until("a look at the process", async () => {
    await see("user_prompt_submit", pid);
    return (await stateOf(S1)) === "working";
  });
  process.kill(pid, "SIGKILL");
  await until("no row", async () => (await stateOf(S2)) === undefined);
});

test("D6: with a home too long for a socket the daemon is up at a short path all know", async () => {
  const long = path.join(program.home, "h".repeat(120));
  mkdirSync(long);
  const env = {
    ...program.env,
    HOME: long,
    XDG_DATA_HOME: path.join(long, "data"),
    TMPDIR: program.home,
  };
  const run = async (...args: string[]) => {
    const child = program.spawn(args, { env });
    let out = "";
    child.stdout?.on("data", (chunk) => {
      out += chunk;
    });
    const [code] = await once(child, "close");
    return { code, out };
  };
  expect(await run("daemon", "start")).toMatchObject({ code: 0 });
  expect((await run("daemon", "status")).out).toContain(`${program.home}/omni-dev-`);
  expect(await run("sessions", "list", "-o", "json")).toEqual({
    code: 0,
    out: '{"sessions":[]}\n',
  });
  expect(await run("daemon", "stop")).toMatchObject({ code: 0 });
});

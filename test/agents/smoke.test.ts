import { existsSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { STREAM_JSON_ARGS, startClaude, startHeadless } from "./harness/claude.ts";
import { type Lab, startLab } from "./harness/lab.ts";
import { readRecord, recordPath, waitForState, watchRecord } from "./harness/record.ts";

let lab: Lab;

beforeAll(async () => {
  lab = await startLab();
});
afterAll(async () => {
  await lab.stop();
  expect(existsSync(lab.dir)).toBe(false);
});

test("a permission prompt makes the record wait, and its denial makes it idle", async () => {
  const claude = await startClaude(lab, { name: "permission" });
  const watch = watchRecord(lab, claude.pid);

  await claude.submit("SCENARIO:bash-permission go");
  await claude.waitForState("waiting: permission prompt");
  await claude.terminal.waitForScreen("Do you want to proceed?");
  await claude.terminal.key("Escape");
  const record = await claude.waitForState("idle");
  await watch.stop();

  expect(watch.states).toEqual(["idle", "busy", "waiting: permission prompt", "idle"]);
  expect(record).toMatchObject({
    pid: claude.pid,
    cwd: lab.cwd,
    kind: "interactive",
    entrypoint: "cli",
  });
});

test("Escape in the middle of an answer makes the record idle", async () => {
  const claude = await startClaude(lab, { name: "interrupt" });

  await claude.submit("SCENARIO:slow go");
  await claude.waitForState("busy");
  await claude.terminal.waitForScreen("esc to interrupt");
  await claude.terminal.key("Escape");

  await claude.waitForState("idle");
});

test("a clean exit removes the record", async () => {
  const claude = await startClaude(lab, { name: "exit" });

  await claude.submit("/exit");
  await claude.terminal.ended();

  expect(existsSync(recordPath(lab, claude.pid))).toBe(false);
});

test("a killed process leaves its record behind", async () => {
  const claude = await startClaude(lab, { name: "killed" });

  await claude.submit("SCENARIO:slow go");
  await claude.waitForState("busy");
  process.kill(claude.pid, "SIGKILL");
  await claude.terminal.ended();

  expect(await readRecord(lab, claude.pid)).toMatchObject({ pid: claude.pid, status: "busy" });
});

test("the stream-json form keeps a record with its entrypoint", async () => {
  const env = { CLAUDE_CODE_ENTRYPOINT: "claude-vscode" };
  const claude = await startHeadless(lab, STREAM_JSON_ARGS, { env });
  const lastSeen = claude.errors;

  claude.prompt("SCENARIO:bash-permission go");
  const state = "waiting: permission prompt";
  const record = await waitForState(lab, claude.pid, state, { lastSeen });

  expect(record).toMatchObject({ kind: "interactive", entrypoint: "claude-vscode" });
});

import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Lab, startLab } from "./harness/lab.ts";
import { QUESTIONS, startHeadlessPi, startPi } from "./harness/pi.ts";

const ANSWER = "Hello from the fake model.";
const APPROVAL = "Run this command?";

let lab: Lab;

beforeAll(async () => {
  lab = await startLab();
});
afterAll(async () => {
  await lab.stop();
  expect(existsSync(lab.dir)).toBe(false);
});

test("a plain turn, an interrupted one, and a clean exit", async () => {
  const pi = await startPi(lab, { name: "plain" });

  await pi.submit("SCENARIO:plain go");
  await pi.terminal.waitForScreen(ANSWER);
  await pi.submit("SCENARIO:slow go");
  await pi.terminal.waitForScreen("word1 ");
  await pi.terminal.key("Escape");
  await pi.terminal.waitForScreen("Operation aborted");
  await pi.quit();

  expect(await pi.terminal.screen()).toContain("To resume this session:");
});

test("an extension's questions can be answered and declined", async () => {
  const made = join(lab.cwd, "made-by-agent.txt");
  const pi = await startPi(lab, { name: "questions", extensions: [QUESTIONS] });

  await pi.submit("SCENARIO:bash-permission go");
  await pi.answer(APPROVAL, "Down", "Enter");
  await pi.terminal.waitForScreen("The user said no.");
  expect(existsSync(made)).toBe(false);

  await pi.submit("SCENARIO:bash-permission again");
  await pi.answer(APPROVAL, "Enter");
  await pi.terminal.waitForScreen("(no output)");
  expect(existsSync(made)).toBe(true);

  await pi.submit("/ask");
  await pi.answer("Which colour?", "Enter");
  await pi.quit();
});

test.each(["SIGTERM", "SIGKILL", "a closed terminal"] as const)("%s ends it", async (end) => {
  const pi = await startPi(lab, { name: end.replaceAll(" ", "-") });

  await pi.submit("SCENARIO:slow go");
  await pi.terminal.waitForScreen("word1 ");
  if (end === "a closed terminal") await pi.terminal.close();
  else process.kill(pi.pid, end);

  await pi.terminal.ended();
});

test("a headless run answers and ends", async () => {
  const pi = await startHeadlessPi(lab, ["-p", "SCENARIO:plain go"]);

  expect(await pi.exited).toEqual({ code: 0, signal: null });
  expect(pi.lines).toContain(ANSWER);
});

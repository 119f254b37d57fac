import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Lab, startLab } from "./harness/lab.ts";
import { type Pi, QUESTIONS, startHeadlessPi, startPi } from "./harness/pi.ts";
import { Witness } from "./harness/witness.ts";

// Real pi with our extension, installed by our command.

let lab: Lab;
let witness: Witness;

beforeAll(async () => {
  lab = await startLab();
});
afterAll(() => lab.stop());
beforeEach(async () => {
  witness = new Witness(lab);
  await witness.start("--pi-agent-dir", lab.piHome);
});

async function begin(name: string): Promise<{ pi: Pi; id: string }> {
  const pi = await startPi(lab, { name, extensions: [QUESTIONS] });
  const row = await witness.newRow();
  expect(row).toMatchObject({ agent: "pi", state: "idle", cwd: lab.cwd, pid: pi.pid });
  return { pi, id: row.session_id };
}

test("idle, working, waiting for permission, working, idle; a question; gone after /quit", async () => {
  const { pi, id } = await begin("work");
  await pi.submit("SCENARIO:bash-permission go");
  await witness.untilState(id, "waiting_for_permission");
  await pi.answer("Run this command?", "Enter");
  await witness.untilState(id, "idle");
  expect(witness.statesOf(id)).toEqual([
    "idle",
    "working",
    "waiting_for_permission",
    "working",
    "idle",
  ]);
  await pi.submit("/ask");
  await witness.untilState(id, "waiting_for_input");
  await pi.answer("Which colour?", "Enter");
  await witness.untilState(id, "idle");
  await pi.submit("SCENARIO:slow go");
  await witness.untilState(id, "working");
  await pi.terminal.key("Escape");
  await witness.untilState(id, "idle");
  await pi.quit();
  await witness.untilOver([id]);
});

test("/new ends the one session and begins another, in the same process; /reload changes nothing", async () => {
  const { pi, id } = await begin("new");
  await pi.submit("SCENARIO:plain go");
  await pi.terminal.waitForScreen("Hello from the fake model.");
  await witness.untilState(id, "idle");
  await pi.submit("/new");
  const second = await witness.newRow();
  expect(second).toMatchObject({ state: "idle", pid: pi.pid });
  await witness.untilOver([id]);
  await pi.submit("/reload");
  await pi.terminal.waitForScreen("Reloaded");
  // Long enough to be seen: what is over within a frame's time is shown by none.
  await pi.submit("SCENARIO:slow two");
  await witness.untilState(second.session_id, "working");
  await pi.terminal.key("Escape");
  await witness.untilState(second.session_id, "idle");
  expect(witness.statesOf(second.session_id)).toEqual(["idle", "working", "idle"]);
  await pi.quit();
  await witness.untilOver([second.session_id]);
});

test.each(["SIGTERM", "SIGKILL", "closed"] as const)(
  "%s in the middle of a turn takes the row along",
  async (way) => {
    const { pi, id } = await begin(way);
    await pi.submit("SCENARIO:slow go");
    await witness.untilState(id, "working");
    if (way === "closed") await pi.terminal.close();
    else process.kill(pi.pid, way);
    await pi.terminal.ended();
    await witness.untilOver([id]);
  },
);

test("a run that nobody sits at is marked", async () => {
  const pi = await startHeadlessPi(lab, ["-p", "SCENARIO:slow go"]);
  const row = await witness.newRow();
  expect(row).toMatchObject({ agent: "pi", headless: true });
  await witness.untilState(row.session_id, "working");
  process.kill(pi.pid, "SIGKILL");
  await pi.exited;
});

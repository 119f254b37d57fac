import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Codex, startCodex, startCodexCommand } from "./harness/codex.ts";
import { type Lab, startLab } from "./harness/lab.ts";
import { waitForLocks } from "./harness/thread-locks.ts";
import { Witness } from "./harness/witness.ts";

// Real Codex with our hooks, installed by our command, and a daemon that looks at its home.

const APPROVAL = "Would you like to run the following command?";
/** Shown while a question is open; the question itself stays on the screen. */
const QUESTION = "to submit answer";
/** Codex's own daemon lets go of a thread a minute after its last terminal has gone. */
const UNLOAD_MS = 150_000;
const WAYS = ["quit", "SIGTERM", "SIGKILL", "closed"] as const;

let lab: Lab;
let witness: Witness;

beforeAll(async () => {
  lab = await startLab();
});
afterAll(() => lab.stop());
beforeEach(async () => {
  witness = new Witness(lab);
  await witness.start("--codex-home", lab.codexHome);
});
async function begin(
  name: string,
  options: { daemon: boolean },
): Promise<{ codex: Codex; id: string }> {
  const codex = await startCodex(lab, { name, ...options });
  const { session_id: id } = await witness.newRow();
  return { codex, id };
}

async function end(codex: Codex, way: (typeof WAYS)[number]): Promise<void> {
  if (way === "quit") await codex.quit();
  else if (way === "closed") await codex.terminal.close();
  else process.kill(codex.pid, way);
  if (way !== "quit") await codex.terminal.ended();
}

/** A prompt that asks for permission, allowed; then one that is interrupted; then `/compact`. */
async function work(codex: Codex, id: string): Promise<void> {
  await codex.submit("SCENARIO:bash-permission go");
  await witness.untilState(id, "waiting_for_permission");
  await codex.answer(APPROVAL, "Enter");
  await witness.untilState(id, "idle");
  expect(witness.statesOf(id)).toEqual([
    "idle",
    "working",
    "waiting_for_permission",
    "working",
    "idle",
  ]);
  await codex.submit("SCENARIO:slow go");
  await witness.untilState(id, "working");
  await codex.terminal.waitForScreen("word1 ");
  await codex.terminal.key("Escape");
  await witness.untilState(id, "idle");
  await codex.submit("/compact");
  await codex.terminal.waitForScreen("Context compacted");
  await codex.submit("SCENARIO:ask-user go");
  await witness.untilState(id, "waiting_for_input");
  await codex.answer(QUESTION, "Enter");
  await witness.untilState(id, "idle");
  const states = witness.statesOf(id).slice(4);
  expect(states.slice(0, 3)).toEqual(["idle", "working", "idle"]);
  // Codex's server, where there is one, calls the compaction work; no hook does.
  expect(states.slice(-5)).toEqual(["idle", "working", "waiting_for_input", "working", "idle"]);
  expect(states.slice(2)).not.toContain("waiting_for_permission");
}

test("without a daemon: idle, working, waiting, working, idle, and gone after /quit", async () => {
  const { codex, id } = await begin("alone", { daemon: false });
  expect(await witness.untilState(id, "idle")).toMatchObject({
    agent: "codex",
    pid: codex.pid,
    cwd: lab.cwd,
  });
  await work(codex, id);
  await codex.quit();
  await witness.untilOver([id]);
});

test.each(["SIGTERM", "SIGKILL", "closed"] as const)(
  "without a daemon, %s in the middle of a turn takes the row along",
  async (way) => {
    const { codex, id } = await begin(`alone-${way}`, { daemon: false });
    await codex.submit("SCENARIO:slow go");
    await witness.untilState(id, "working");
    await end(codex, way);
    await witness.untilOver([id]);
  },
);

test("with the daemon: the same, also with an idle thread that a late subagent ends in", async () => {
  const { codex, id } = await begin("shared", { daemon: true });
  await work(codex, id);
  const row = await witness.untilState(id, "idle");
  expect(row).toMatchObject({ cwd: lab.cwd, agent: "codex" });
  expect(row).not.toHaveProperty("pid");

  await codex.submit("SCENARIO:subagent go");
  await witness.untilState(id, "working");
  await codex.terminal.waitForScreen("The subagent is back.");
  await witness.untilState(id, "idle");
  // The subagent's lock is its own, and no row.
  await waitForLocks(lab, "the subagent's", (locks) => locks.length === 2);
  const shown = await witness.program.list();
  expect(shown.filter((row) => row.state !== "ended")).toMatchObject([{ session_id: id }]);
  await end(codex, "SIGKILL");
});

test("with the daemon, every way to leave takes the row along once the thread is unloaded", async () => {
  const ids: string[] = [];
  for (const way of WAYS) {
    const { codex, id } = await begin(`shared-${way}`, { daemon: true });
    ids.push(id);
    await codex.submit("SCENARIO:plain go");
    await witness.untilState(id, "working");
    await witness.untilState(id, "idle");
    await end(codex, way);
  }
  await witness.untilOver(ids, UNLOAD_MS);
});

test("with the daemon, an error of the model's server ends the work, and is named", async () => {
  const { codex, id } = await begin("error", { daemon: true });
  await codex.submit("SCENARIO:error-400 go");
  await witness.untilState(id, "working");
  expect(await witness.untilState(id, "idle")).toHaveProperty("error");
  await end(codex, "SIGKILL");
});

test("a resumed thread is listed before its first prompt; archived, it ends; exec is marked", async () => {
  const first = await begin("before", { daemon: false });
  await first.codex.submit("SCENARIO:plain go");
  await witness.untilState(first.id, "working");
  await witness.untilState(first.id, "idle");
  await first.codex.quit();
  await witness.untilOver([first.id]);

  const again = await startCodex(lab, { name: "again", args: ["resume", first.id] });
  await witness.untilState(first.id, "idle");
  const archived = await startCodexCommand(lab, ["archive", first.id]);
  await archived.exited;
  await witness.untilOver([first.id]);
  await end(again, "SIGKILL");

  const run = ["exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"];
  const exec = await startCodexCommand(lab, [...run, "SCENARIO:bash-safe go"]);
  expect(await witness.newRow()).toMatchObject({ agent: "codex", headless: true });
  await exec.exited;
});

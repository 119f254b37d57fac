import { existsSync, readlinkSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Codex,
  codexDaemonPid,
  codexSocket,
  startCodex,
  startCodexCommand,
} from "./harness/codex.ts";
import { type Lab, startLab } from "./harness/lab.ts";
import { type ThreadLock, threadLocks, waitForLocks } from "./harness/thread-locks.ts";
import { waitFor } from "./harness/wait.ts";

const ANSWER = "Hello from the fake model.";
const APPROVAL = "Would you like to run the following command?";

let lab: Lab;
/** Appears when a turn has ended. */
let ended: string;
/** While it exists, turns do not go on. */
let gate: string;

beforeAll(async () => {
  lab = await startLab();
  ended = join(lab.dir, "ended");
  gate = join(lab.dir, "gate");
  const hooks = {
    UserPromptSubmit: hook(`while [ -e '${gate}' ]; do sleep 0.1; done`),
    Stop: hook(`touch '${ended}'`),
  };
  await writeFile(join(lab.codexHome, "hooks.json"), JSON.stringify({ hooks }));
});
afterAll(async () => {
  const socket = readlinkSync(codexSocket(lab));
  expect(existsSync(socket)).toBe(true);
  await lab.stop();
  expect([socket, `${socket}.lock`, lab.dir].filter((path) => existsSync(path))).toEqual([]);
});

const hook = (command: string) => [{ hooks: [{ type: "command", command }] }];

/** Starts Codex in one process, and finds the lock of its thread. */
async function startAlone(name: string): Promise<{ codex: Codex; threadId: string }> {
  const codex = await startCodex(lab, { name, daemon: false });
  const locks = await waitForLocks(lab, "its own", (all) => all.some(isHeldBy(codex.pid)));
  return { codex, threadId: locks.find(isHeldBy(codex.pid))?.threadId ?? "" };
}

const isHeldBy =
  (pid: number) =>
  (lock: ThreadLock): boolean =>
    lock.pid === pid;

test("hooks are trusted at the start; a clean exit removes the lock file", async () => {
  const { codex, threadId } = await startAlone("plain");

  await codex.submit("SCENARIO:plain go");
  await codex.terminal.waitForScreen(ANSWER);
  await waitFor("the end of the turn", () => existsSync(ended) || undefined);
  await codex.quit();

  expect((await threadLocks(lab)).map((lock) => lock.threadId)).not.toContain(threadId);
});

test("a permission prompt can be answered and declined", async () => {
  const made = join(lab.cwd, "made-by-agent.txt");
  const { codex } = await startAlone("permission");

  await codex.submit("SCENARIO:bash-permission go");
  await codex.answer(APPROVAL, "Escape");
  await codex.terminal.waitForScreen("Conversation interrupted");
  expect(existsSync(made)).toBe(false);

  await codex.submit("SCENARIO:bash-permission again");
  await codex.answer(APPROVAL, "Enter");
  await codex.terminal.waitForScreen("The command has run.");
  expect(existsSync(made)).toBe(true);
  await rm(made);
  process.kill(codex.pid, "SIGKILL");
  await codex.terminal.ended();
});

test.each(["SIGTERM", "SIGKILL", "a closed terminal"] as const)(
  "%s leaves the lock file behind, and nobody holds it",
  async (end) => {
    const { codex, threadId } = await startAlone(end.replaceAll(" ", "-"));

    await codex.submit("SCENARIO:slow go");
    await codex.terminal.waitForScreen("word1 ");
    if (end === "a closed terminal") await codex.terminal.close();
    else process.kill(codex.pid, end);
    await codex.terminal.ended();

    const [lock] = (await threadLocks(lab)).filter((found) => found.threadId === threadId);
    expect(lock).toEqual({ threadId, file: expect.any(String) });
  },
);

test("a headless run answers and leaves no lock file", async () => {
  const bypass = "--dangerously-bypass-hook-trust";
  const args = ["exec", "--skip-git-repo-check", bypass, "SCENARIO:plain go"];
  const codex = await startCodexCommand(lab, args);

  await waitForLocks(lab, "its own", (locks) => locks.some(isHeldBy(codex.pid)));
  await waitFor("its answer", () => codex.lines.includes(ANSWER) || undefined, {
    lastSeen: codex.errors,
  });
  await waitForLocks(lab, "none of its own", (locks) => !locks.some(isHeldBy(codex.pid)));
  process.kill(codex.pid, "SIGKILL");
  await codex.exited;
});

test("with the daemon, a killed terminal leaves the turn running", async () => {
  const codex = await startCodex(lab, { name: "daemon" });
  const daemonPid = await codexDaemonPid(lab);
  await waitForLocks(lab, "the daemon's", (locks) => locks.some(isHeldBy(daemonPid)));
  await rm(ended, { force: true });
  await writeFile(gate, "");

  await codex.submit("SCENARIO:plain go");
  await codex.terminal.waitForScreen("Working");
  process.kill(codex.pid, "SIGKILL");
  await codex.terminal.ended();
  await rm(gate);
  await waitFor("the end of the turn", () => existsSync(ended) || undefined);

  expect((await threadLocks(lab)).filter(isHeldBy(daemonPid))).toHaveLength(1);
});

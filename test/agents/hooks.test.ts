import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Entry } from "../../src/core/protocol/session.ts";
import { entry, Program, type Running } from "../harness/program.ts";
import { type Claude, startClaude } from "./harness/claude.ts";
import { installClaude } from "./harness/install.ts";
import { type Lab, startLab } from "./harness/lab.ts";

// Real Claude Code with our hooks, installed by our command, and nothing else: the daemon has a home
// of its own, so it sees neither Claude's process records nor its transcripts.

let lab: Lab;

beforeAll(async () => {
  lab = await startLab();
  mkdirSync(join(lab.dir, "bin"));
  symlinkSync(await installClaude(), join(lab.dir, "bin", "claude"));
});
afterAll(() => lab.stop());

/** A daemon that knows what hooks tell it, and a reader that notes what it shows. */
class Witness {
  readonly program = new Program();
  #watch: Running | undefined;
  readonly #seen: string[] = [];

  async start(): Promise<void> {
    const { program } = this;
    await program.run("daemon", "start");
    program.env.PATH = `${join(lab.dir, "bin")}:${program.env.PATH}`;
    const settings = join(lab.claudeConfigDir, "settings.json");
    const install = [
      "sessions",
      "install-hooks",
      "--settings",
      settings,
      "--socket",
      program.socket,
    ];
    // What asks Claude for its version runs where Claude may run.
    const installed = await program
      .spawn(lab.inside([process.execPath, entry, ...install]))
      .ended();
    expect(installed).toMatchObject({ exit: 0 });
    expect(installed.stdout).toContain("PermissionRequest");
    this.#watch = program.start("sessions", "watch", "-o", "ndjson", "--socket", program.socket);
    await this.#watch.line();
  }

  /** Reads on until the one session that is not over is in this state. */
  async until(state: string): Promise<Entry> {
    for (;;) {
      const { sessions } = JSON.parse((await this.#watch?.line()) ?? "") as { sessions: Entry[] };
      const live = sessions.filter((session) => session.state !== "ended");
      expect(live.length).toBeLessThan(2);
      const shown = live[0]?.state ?? "ended";
      if (this.#seen.at(-1) !== shown) this.#seen.push(shown);
      const row = live[0] ?? sessions[0];
      if (shown === state && row) return row;
    }
  }

  /** The states since the last time this was asked, each once. */
  states(): string[] {
    return this.#seen.splice(0);
  }
}

async function begin(
  name: string,
  args: string[] = [],
): Promise<{ witness: Witness; claude: Claude }> {
  const witness = new Witness();
  await witness.start();
  const claude = await startClaude(lab, { name, args, env: { CLAUDE_CODE_MAX_RETRIES: "1" } });
  const row = await witness.until("starting");
  expect(row).toMatchObject({ agent: "claude", cwd: lab.cwd, pid: claude.pid });
  return { witness, claude };
}

async function quit(witness: Witness, claude: Claude): Promise<void> {
  await claude.submit("/exit");
  await claude.terminal.ended();
  await witness.until("ended");
}

test("prompt, permission, approval, answer, exit", async () => {
  const { witness, claude } = await begin("approve");
  await claude.submit("SCENARIO:bash-permission go");
  await witness.until("waiting_for_permission");
  await claude.answer("Do you want to proceed?", "Enter");
  await witness.until("idle");
  await quit(witness, claude);
  expect(witness.states()).toEqual([
    "starting",
    "working",
    "waiting_for_permission",
    "working",
    "idle",
    "ended",
  ]);
});

test("a tool that fails after it was allowed", async () => {
  const { witness, claude } = await begin("failure");
  await claude.submit("SCENARIO:tool-fail go");
  await witness.until("waiting_for_permission");
  await claude.answer("Do you want to proceed?", "Enter");
  await witness.until("idle");
  await quit(witness, claude);
  expect(witness.states().slice(-3)).toEqual(["working", "idle", "ended"]);
});

test("a question is one for input", async () => {
  const { witness, claude } = await begin("question");
  await claude.submit("SCENARIO:ask-user go");
  await witness.until("waiting_for_input");
  await claude.answer("Which colour", "Enter");
  await witness.until("idle");
  await quit(witness, claude);
  expect(witness.states()).not.toContain("waiting_for_permission");
});

test("an error of the model's server ends the turn, with its word", async () => {
  const { witness, claude } = await begin("error");
  await claude.submit("SCENARIO:error-400 go");
  expect(await witness.until("idle")).toMatchObject({ error: expect.stringMatching(/^\w+$/) });
  await claude.submit("SCENARIO:plain go");
  await witness.until("working");
  expect(await witness.until("idle")).not.toHaveProperty("error");
  await quit(witness, claude);
});

test("a subagent's question is the session's; while it runs the session works, also after its turn", async () => {
  const { witness, claude } = await begin("subagent");
  await claude.submit("SCENARIO:subagent-permission go");
  await witness.until("waiting_for_permission");
  await claude.answer("Do you want to proceed?", "Enter");
  await witness.until("idle");
  await quit(witness, claude);
  // The turn that a finished subagent opens may begin before or after the row is idle for a moment.
  expect(witness.states().slice(0, 4)).toEqual([
    "starting",
    "working",
    "waiting_for_permission",
    "working",
  ]);
});

test("/clear is one row with another id, /compact changes nothing, --resume takes the id up again", async () => {
  const { witness, claude } = await begin("clear");
  await claude.submit("SCENARIO:plain one");
  const first = await witness.until("idle");
  await claude.submit("/compact");
  await claude.waitForState("busy");
  await claude.waitForState("idle");
  await claude.submit("/clear");
  const second = await witness.until("starting");
  expect(second.session_id).not.toBe(first.session_id);
  expect(witness.states()).not.toContain("waiting_for_input");
  await quit(witness, claude);

  const again = await startClaude(lab, { name: "resumed", args: ["--resume", first.session_id] });
  expect(await witness.until("starting")).toMatchObject({
    session_id: first.session_id,
    pid: again.pid,
  });
  process.kill(again.pid, "SIGKILL");
  await again.terminal.ended();
  await witness.until("ended").catch(() => {}); // no row at all is an end too
});

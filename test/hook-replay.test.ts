import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Program, root } from "./harness/program.ts";

// Every captured hook call of real Claude Code, through the command that our installer writes, run as
// Claude runs it, into a daemon that knows nothing else. What the table must show after each call is
// the "hooks alone" part of the replay of the engine (src/core/registry/replay-hooks.test.ts).

type Call = {
  event: string;
  stdin: { session_id: string };
  chain?: { pid: number; comm: string }[];
};

const fixtures = path.join(root, "test", "fixtures", "claude");

for (const folder of ["hooks", "stream-hooks"]) {
  test(`${folder}: each call through the installed command shows what the engine shows`, async () => {
    const program = new Program();
    const settings = path.join(program.home, "settings.json");
    await program.run("daemon", "start");
    const installed = await program.run("sessions", "install-hooks", "--settings", settings);
    expect(installed.exit).toBe(0);
    const command = commandIn(settings);
    const agents = new Map<number, Promise<number>>();

    for (const name of fs.readdirSync(path.join(fixtures, folder))) {
      if (!name.endsWith(".ndjson")) continue;
      const file = path.join(fixtures, folder, name);
      const calls: Call[] = fs
        .readFileSync(file, "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      const expected = expectedStates(file.replace(".ndjson", ".expected.txt"));
      for (const [i, call] of calls.entries()) {
        const pid = call.chain?.find(({ comm }) => comm === "claude")?.pid ?? 0;
        if (!agents.has(pid)) agents.set(pid, anAgent());
        const env = { ...program.env, CLAUDE_PID: String(await agents.get(pid)) };
        const shell = spawn("/bin/sh", ["-c", command], { env, cwd: program.home });
        let said = "";
        for (const stream of [shell.stdout, shell.stderr])
          stream.on("data", (chunk) => {
            said += chunk;
          });
        shell.stdin.end(JSON.stringify(call.stdin));
        expect(await once(shell, "close")).toEqual([0, null]);
        expect(said).toBe("");
        const rows = await program.list();
        const row = rows.find((entry) => entry.session_id === call.stdin.session_id);
        const id = call.stdin.session_id.slice(0, 4);
        expect(row?.state, `${name} ${i} ${call.event}`).toBe(expected[i]?.get(id));
      }
    }
  }, 120_000);
}

/** The first hook command in a settings file. */
function commandIn(settings: string): string {
  const { hooks } = JSON.parse(fs.readFileSync(settings, "utf8"));
  return hooks.SessionStart[0].hooks[0].command;
}

/** A process that lives as long as the test, in the place of an agent's. */
async function anAgent(): Promise<number> {
  const agent = spawn("sleep", ["600"]);
  onTestFinished(() => void agent.kill("SIGKILL"));
  await once(agent, "spawn");
  return agent.pid ?? 0;
}

/** What each call must lead to: the states of sessions by the first characters of their ids. */
function expectedStates(file: string): Map<string, string>[] {
  const lines = fs.readFileSync(file, "utf8").split("\n");
  return lines.slice(1, lines.indexOf("")).map((line) => {
    const rows = line.slice(line.lastIndexOf(": ") + 2).split(", ");
    return new Map(rows.map((row) => row.split(" ").slice(0, 2) as [string, string]));
  });
}

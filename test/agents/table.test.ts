import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { root } from "../harness/program.ts";
import { type Claude, STREAM_JSON_ARGS, startClaude, startHeadless } from "./harness/claude.ts";
import { type Lab, startLab } from "./harness/lab.ts";
import { openTerminal, type Terminal } from "./harness/terminal.ts";

// The main job, as a newcomer sees it: `npm start` in one terminal, real Claude Code in others,
// nothing installed into Claude. The table is read off the screen.

let lab: Lab;
let table: Terminal;

beforeAll(async () => {
  lab = await startLab();
  table = await openTerminal(lab, "table", ["npm", "start"], { cwd: root });
  await table.waitForScreen("No sessions are running");
});
afterAll(async () => {
  await table.key("C-c");
  await table.ended();
  expect(existsSync(join(lab.home, ".local/share/omni-dev/daemon.sock"))).toBe(false);
  await lab.stop();
});

/** Rows of the table: every line that names an agent. */
const rowsOf = (screen: string) => screen.split("\n").filter((line) => / claude {2}/.test(line));

/** Waits until the table has exactly these rows, by what each begins with. */
const shows = (...states: string[]) =>
  table.waitForScreen((screen) => {
    const rows = rowsOf(screen).filter((row) => !row.startsWith("- ended"));
    return rows.length === states.length && rows.every((row, i) => row.startsWith(states[i] ?? ""));
  });

const start = (name: string, args: string[] = []): Promise<Claude> =>
  startClaude(lab, { name, args });

async function quit(claude: Claude): Promise<void> {
  await claude.submit("/exit");
  await claude.terminal.ended();
  await shows();
}

test("idle, working, waiting for permission, working, idle, and gone after /exit", async () => {
  const claude = await start("approve");
  await shows("◦ idle");
  await claude.submit("SCENARIO:bash-permission go");
  await shows("! needs permission");
  await claude.answer("Do you want to proceed?", "Enter");
  await shows("◦ idle");
  await claude.submit("SCENARIO:slow go");
  await shows("▸ working");
  await claude.terminal.key("Escape");
  await shows("◦ idle");
  await quit(claude);
});

test("a denied permission goes to idle", async () => {
  const claude = await start("deny");
  await claude.submit("SCENARIO:bash-permission go");
  await shows("! needs permission");
  await claude.answer("Do you want to proceed?", "Up", "Enter");
  await shows("◦ idle");
  await quit(claude);
});

test("a question is one, not a permission", async () => {
  const claude = await start("ask");
  await claude.submit("SCENARIO:ask-user go");
  await shows("? needs input");
  await claude.terminal.key("Escape");
  await shows("◦ idle");
  await quit(claude);
});

test("a name that the user gave is shown", async () => {
  const claude = await start("name", ["--name", "Payment bug"]);
  await table.waitForScreen("Payment bug");
  await quit(claude);
});

test("/clear leaves one row", async () => {
  const claude = await start("clear");
  await claude.submit("SCENARIO:plain one");
  await claude.terminal.waitForScreen("Hello from the fake model");
  await shows("◦ idle");
  await claude.submit("/clear");
  await claude.terminal.waitForScreen((screen) => !screen.includes("Hello from the fake model"));
  await shows("◦ idle");
  await quit(claude);
});

test("kill -9 while it works: the row is gone within seconds; others stay", async () => {
  const other = await start("other");
  const claude = await start("killed");
  await claude.submit("SCENARIO:slow go");
  await shows("▸ working", "◦ idle");
  process.kill(claude.pid, "SIGKILL");
  await shows("◦ idle");
  await quit(other);
});

test("a terminal that is closed takes its row along", async () => {
  const claude = await start("closed");
  await claude.submit("SCENARIO:slow go");
  await shows("▸ working");
  await claude.terminal.close();
  await shows();
});

test("an editor's session is listed, a headless run is counted as hidden", async () => {
  const editor = await startHeadless(lab, STREAM_JSON_ARGS, {
    env: { CLAUDE_CODE_ENTRYPOINT: "claude-vscode" },
  });
  editor.prompt("SCENARIO:sleep-10 go");
  await shows("▸ working");
  const headless = await startHeadless(lab, ["-p", "SCENARIO:slow go"]);
  await table.waitForScreen(/1 headless/);
  process.kill(headless.pid, "SIGKILL");
  await headless.exited;
  process.kill(editor.pid, "SIGTERM");
  await editor.exited;
  await shows();
});

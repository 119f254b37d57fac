import fs from "node:fs";
import path from "node:path";
import { expect, test, vi } from "vitest";
import { entry, PATIENCE_MS, Program, root } from "./harness/program.ts";
import { Terminal } from "./harness/pty.ts";

test("watch into a pipe prints once, with a daemon only for that long", async () => {
  const program = new Program();
  expect(await program.run("sessions", "watch")).toEqual({
    exit: 0,
    stdout:
      "No sessions are running.\nStart claude or codex in another terminal: it appears here.\n",
    stderr: "",
  });
  expect(fs.existsSync(program.socket)).toBe(false);
});

test("npm start's script does the same, from wherever", async () => {
  const program = new Program();
  program.env.NODE_ENV = "production";
  const start = path.join(root, "scripts", "start.mjs");
  const { exit, stdout } = await program.spawn([process.execPath, start, "--all"]).ended();
  expect([exit, stdout.split("\n")[0]]).toEqual([0, "No sessions are running."]);
});

test("a line of JSON for each change, from a daemon of its own, until interrupted", async () => {
  const program = new Program();
  const watch = program.start("sessions", "watch", "-o", "ndjson");
  expect(await watch.line()).toBe('{"sessions":[]}');
  await program.observe("s1", { stream_state: "working" });
  const line = await watch.line();
  expect(`{"ok":true,"payload":${line}}`).toBe(await program.ask("sessions", "list"));
  watch.child.kill("SIGINT");
  expect([(await watch.ended()).exit, watch.stderr]).toEqual([0, ""]);
  expect(fs.existsSync(program.socket)).toBe(false);
});

test("a reader that has read enough is nobody's failure", async () => {
  const program = new Program();
  const watch = program.start("sessions", "watch", "-o", "ndjson");
  await watch.line();
  watch.child.stdout?.destroy();
  await program.observe("s1", { stream_state: "working" });
  expect([(await watch.ended()).exit, watch.stderr]).toEqual([0, ""]);
});

test("when the daemon in one watch ends with it, another watch takes its place", async () => {
  const program = new Program();
  const first = program.start("sessions", "watch", "-o", "ndjson");
  await first.line();
  const second = program.start("sessions", "watch", "-o", "ndjson");
  expect(await second.line()).toBe('{"sessions":[]}');
  first.child.kill("SIGTERM");
  expect((await first.ended()).exit).toBe(0);
  const isHeard = async () =>
    expect(await program.observe("s1", { stream_state: "idle" })).toContain('"ok":true');
  await vi.waitFor(isHeard, { timeout: PATIENCE_MS });
  expect(await second.line()).toContain('"session_id":"s1"');
  expect(second.stderr).toBe("daemon lost, reconnecting…\n");
});

const watchInTerminal = `'${process.execPath}' '${entry}' sessions watch`;

test("on a terminal it is live, and leaves it as it was", async () => {
  const program = new Program();
  program.env.PS1 = "$ ";
  await program.run("daemon", "start");
  const terminal = new Terminal(program, ["sh"], { columns: 70, rows: 8 });
  await terminal.shows(/^\$/);
  const before = terminal.modes();
  terminal.type(`${watchInTerminal}\r`);
  await terminal.shows("No sessions are running.");

  const cwd = path.join(program.home, "a-long-name");
  await program.observe("s1", { stream_state: "waiting_for_input" }, { cwd });
  await terminal.shows(/\? needs input +\d+s +claude +s1 +~\/a-long-name/);
  terminal.resize(50);
  await terminal.shows(/\? needs input +\d+s +claude +s1 +…/);

  terminal.type("\x1a");
  await terminal.shows(/Stopped|Suspended/);
  terminal.type("fg\r");
  await terminal.shows(/needs input/);
  expect(terminal.modes()).toEqual({ screen: "alternate", cursor: false, wrap: false });
  terminal.type("q");
  await terminal.shows(/\$ fg\n[\s\S]*\n\$\s*$/);
  expect(terminal.modes()).toEqual(before);
  terminal.type("echo left $?\r");
  await terminal.shows(/^\$ echo left \$\?\nleft 0$/m);
});

test("a terminal that is closed takes its watch and its daemon along", async () => {
  const program = new Program();
  const terminal = new Terminal(program, ["sh"], { columns: 70, rows: 8 });
  terminal.type(`exec ${watchInTerminal}\r`);
  await terminal.shows("the daemon runs in this window");
  terminal.close();
  await terminal.ended;
  expect(fs.existsSync(program.socket)).toBe(false);
});

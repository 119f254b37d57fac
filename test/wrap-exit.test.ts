import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { Program, pidsWith } from "./harness/program.ts";
import { Terminal } from "./harness/pty.ts";
import { bin, script, Wrapped, wrapper } from "./harness/wrapped.ts";

test.each([0, 1, 7, 255])("the status of the child is the wrapper's: %i", async (status) => {
  const wrapped = new Wrapped(new Program(), ["sh", "-c", `exit ${status}`]);
  expect(await wrapped.ended()).toEqual({ exit: status, signal: null, stderr: "" });
});

test.each([
  ["TERM", 143],
  ["KILL", 137],
  ["INT", 130],
])("a child that SIG%s ended is 128 and the signal's number", async (signal, status) => {
  const wrapped = new Wrapped(new Program(), ["sh", "-c", `kill -${signal} $$`]);
  expect(await wrapped.ended()).toEqual({ exit: status, signal: null, stderr: "" });
});

test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
  "%s reaches the child, and the child decides",
  async (signal) => {
    const catching = `
      let caught = 0;
      process.on("${signal}", () => {
        process.stdout.write("caught;");
        if (++caught === 2) process.exit(21);
      });
      process.stdout.write("ready;");
      setInterval(() => {}, 1000);`;
    const wrapped = new Wrapped(new Program(), script(catching));
    await wrapped.says("ready;");
    wrapped.child.kill(signal);
    await wrapped.says("caught;");
    expect(wrapped.child.exitCode).toBe(null);
    wrapped.child.kill(signal);
    expect(await wrapped.ended()).toMatchObject({ exit: 21 });
  },
);

test("a signal that the child does not catch ends both", async () => {
  const wrapped = new Wrapped(new Program(), ["sh", "-c", "echo ready; exec sleep 600"]);
  await wrapped.says("ready");
  wrapped.child.kill("SIGTERM");
  expect(await wrapped.ended()).toMatchObject({ exit: 143 });
});

test("the child stays in the wrapper's process group and gets its arguments and its environment", async () => {
  const user = new Program();
  user.env.WITH_SPACES = " a  b\nc ";
  const tell = `
    const { execFileSync } = require("node:child_process");
    const group = (pid) => execFileSync("ps", ["-o", "pgid=", "-p", String(pid)]).toString().trim();
    const { argv, env, ppid, pid } = process;
    console.log(JSON.stringify({ args: argv.slice(1), env, same: group(pid) === group(ppid) }));`;
  const args = ["", "a b", "--socket", "$x", "'\"\\", "é"];
  const wrapped = new Wrapped(user, script(tell, ...args));
  expect(await wrapped.ended()).toMatchObject({ exit: 0 });
  expect(JSON.parse(wrapped.output.toString())).toEqual({ args, env: user.env, same: true });
});

test.each([
  ["that is not there", () => "/nowhere/claude", 127],
  ["that PATH does not have", () => "no-such-claude", 127],
  ["that may not be run", (user: Program) => made(user, "plain", 0o600), 126],
  ["that is a folder", (user: Program) => user.home, 126],
])("a command %s fails as it does in a shell", async (_, make, status) => {
  const user = new Program();
  const command = make(user);
  const inShell = new Wrapped(user, [command], { by: ["/bin/sh", "-c", 'exec "$@"', "sh"] });
  const wrapped = new Wrapped(user, [command]);
  const expected = await inShell.ended();
  expect(expected.exit).toBe(status);
  expect(await wrapped.ended()).toEqual(expected);
});

function made(user: Program, name: string, mode: number, text = ""): string {
  const file = path.join(user.home, name);
  fs.writeFileSync(file, text, { mode });
  return file;
}

test("a script that names no interpreter is started as a shell would", async () => {
  const user = new Program();
  const wrapped = new Wrapped(user, [made(user, "claude", 0o700, 'echo "got $1"\n'), "it"]);
  expect(await wrapped.ended()).toMatchObject({ exit: 0 });
  expect(wrapped.output.toString()).toBe("got it\n");
});

test("a folder that is gone keeps nothing from starting", async () => {
  const user = new Program();
  const gone = path.join(user.home, "gone");
  const { exit, stdout } = await user
    .spawn([
      "sh",
      "-c",
      'mkdir gone && cd gone && rmdir "$0" && "$@"',
      gone,
      ...wrapper,
      "echo",
      "on",
    ])
    .ended();
  expect([exit, stdout]).toEqual([0, "on\n"]);
});

test("a program that was left behind with the output is not waited for", async () => {
  const wrapped = new Wrapped(new Program(), ["sh", "-c", "sleep 600 & echo $!; exit 5"]);
  const [exit] = await once(wrapped.child, "exit");
  const left = Number(wrapped.output.toString());
  process.kill(left, "SIGKILL");
  expect(exit).toBe(5);
});

test("in a terminal it gets out of the way", async () => {
  const user = new Program();
  const inside = "test -t 0 && test -t 1 && echo 'a terminal'; exit 6";
  const terminal = new Terminal(user, [...wrapper, "sh", "-c", inside]);
  expect(await terminal.ended).toBe(6);
  expect(terminal.screen()).toContain("a terminal");
});

test("without a command it says what is missing", async () => {
  const user = new Program();
  const { exit, stderr } = await user.spawn([...wrapper]).ended();
  expect([exit, stderr]).toEqual([2, expect.stringContaining("claude-wrap COMMAND")]);
  const help = await user.spawn([process.execPath, bin, "claude-wrap", "--help"]).ended();
  expect([help.exit, help.stdout]).toEqual([0, expect.stringContaining("claude-wrap [options]")]);
});

test("nothing is left when it is over", async () => {
  const user = new Program();
  await new Wrapped(user, ["sh", "-c", "exit 0"]).ended();
  expect(await pidsWith(user.home)).toEqual([]);
});

import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { shimText } from "../src/install/wrapper-shim.ts";
import { FakeDaemon } from "./harness/fake-daemon.ts";
import { Program, root } from "./harness/program.ts";
import { script, Wrapped } from "./harness/wrapped.ts";

const wrapper = path.join(root, "dist", "claude-wrap.cjs");

/** Writes a shim for a user and returns its path. */
function shimOf(user: Program, { nodes = [process.execPath], program = wrapper } = {}): string {
  const file = path.join(user.home, "claude-wrap");
  fs.writeFileSync(file, shimText({ nodes, wrapper: program }, user.socket), { mode: 0o700 });
  return file;
}

/** Tells whether the parent is the wrapper, with what it was given. */
const tell = script(`
  const { readFileSync } = require("node:fs");
  const parent = require("node:child_process").execFileSync("ps", ["-o", "args=", "-p", String(process.ppid)]);
  const isWrapped = parent.toString().includes("claude-wrap.cjs");
  console.log(JSON.stringify({ isWrapped, args: process.argv.slice(1) }));
  process.exitCode = 9;`);

const args = ["a b", "", "--socket", "'", "--", "$x"];

test.each([
  ["as it was installed", {}, true],
  [
    "with a Node that is gone and one that is there",
    { nodes: ["/gone/node", process.execPath] },
    true,
  ],
  ["when Node is gone", { nodes: ["/gone/node"] }, false],
  ["when the program is gone", { program: "/gone/claude-wrap.cjs" }, false],
  ["when no Node was there at all", { nodes: [] as string[] }, false],
])("it starts what it was given, %s", async (_, options, isWrapped) => {
  const user = new Program();
  const wrapped = new Wrapped(user, [...tell, ...args], { by: [shimOf(user, options)] });
  expect(await wrapped.ended()).toEqual({ exit: 9, signal: null, stderr: "" });
  expect(JSON.parse(wrapped.output.toString())).toEqual({ isWrapped, args });
});

test("what would change Node is kept from the wrapper and given to the child", async () => {
  const user = new Program();
  const trace = path.join(user.home, "it's.cjs");
  fs.writeFileSync(trace, 'process.stderr.write("loaded\\n")');
  user.env.NODE_OPTIONS = `--require "${trace}"`;
  user.env.NODE_EXTRA_CA_CERTS = "/nowhere/a=b c.pem";
  user.env.NODE_V8_COVERAGE = "";
  const command = script("process.stdout.write(JSON.stringify(process.env))");
  const wrapped = new Wrapped(user, command, { by: [shimOf(user)] });
  const { exit, stderr } = await wrapped.ended();
  expect([exit, stderr.match(/loaded/g)]).toEqual([0, ["loaded"]]);
  const { PWD, OLDPWD, SHLVL, _, ...env } = JSON.parse(wrapped.output.toString());
  expect(env).toEqual(user.env);
});

test("files that were open stay open for the child", async () => {
  const user = new Program();
  for (const name of ["three", "five"]) fs.writeFileSync(path.join(user.home, name), `${name}\n`);
  const { exit, stdout } = await user
    .spawn([
      "sh",
      "-c",
      '"$0" sh -c "cat <&3; cat <&5; [ -e /dev/fd/4 ] || echo none" 3<three 5<five </dev/null | cat',
      shimOf(user),
    ])
    .ended();
  expect([exit, stdout]).toEqual([0, "three\nfive\nnone\n"]);
});

test("a socket in the environment comes before the one that was installed", async () => {
  const user = new Program();
  const heard: string[] = [];
  const daemon = await new FakeDaemon((socket, line) => {
    heard.push(JSON.parse(line).op);
    socket.write("{}\n");
  }).listen();
  user.env.OMNI_DEV_SOCKET = daemon.socketPath;
  const id = "22222222-2222-4222-8222-222222222222";
  const wrapped = new Wrapped(user, ["sh", "-c", "exit 0", "sh", "--resume", id], {
    by: [shimOf(user)],
  });
  expect(await wrapped.ended()).toMatchObject({ exit: 0 });
  expect(heard).toEqual(["observe", "end"]);
});

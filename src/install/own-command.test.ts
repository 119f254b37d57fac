import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { agentHookCommand, hookCommand, ownCommand } from "./own-command.ts";

test("the commands of entries are known as ours, whatever the path", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (folder) => {
      const program = `/${folder.replaceAll("\0", "")}/omni-dev/hook`;
      const own = { kind: "launcher", program };
      expect(ownCommand(hookCommand(program))).toEqual(own);
      expect(ownCommand(agentHookCommand(program, "codex"))).toEqual(own);
    }),
  );
});

/** The shells that are here, of those that users have. */
const shells = ["sh", "dash", "bash", "zsh", "ksh", "fish"].filter((shell) =>
  ["/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"].some((folder) =>
    fs.existsSync(path.join(folder, shell)),
  ),
);

describe.each(shells)("an agent's command in %s", (shell) => {
  const home = () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "omni-dev-test-"));
    onTestFinished(() => fs.rmSync(folder, { recursive: true }));
    return folder;
  };
  const run = (command: string, folder: string, input: string) =>
    spawnSync(shell, ["-c", command], { input, env: { PATH: process.env.PATH, HOME: folder } });

  test("runs the launcher in the shell's place, whatever the path", () => {
    const folder = home();
    const launcher = path.join(folder, "a b'\\''\\\\c\\ $HOME \"q\" `id` é!\\", "hook");
    fs.mkdirSync(path.dirname(launcher));
    fs.writeFileSync(launcher, 'echo "$$ $*" >"$HOME/log"; cat >>"$HOME/log"');
    const done = run(agentHookCommand(launcher, "codex"), folder, "input");
    expect([done.status, `${done.stdout}${done.stderr}`]).toEqual([0, ""]);
    expect(fs.readFileSync(path.join(folder, "log"), "utf8")).toBe(
      `${done.pid} --agent codex\ninput`,
    );
  });

  test("without a launcher reads all, prints nothing and exits 0", () => {
    const folder = home();
    const command = agentHookCommand(path.join(folder, "no such\\'/hook"), "codex");
    const done = run(command, folder, "x".repeat(1_000_000));
    expect([done.error, done.status, `${done.stdout}${done.stderr}`]).toEqual([undefined, 0, ""]);
  });
});

test("a command whose launcher is gone exits 0 and prints nothing", () => {
  const command = hookCommand("/no such/omni-dev/hook");
  expect(execFileSync("/bin/sh", ["-c", command], { encoding: "utf8" })).toBe("");
});

test.each([
  ["/a/bin/omni-dev sessions hook", "/a/bin/omni-dev"],
  ["omni-dev sessions hook --agent claude --socket /x", "omni-dev"],
  ["'/a b/it'\\''s/omni-dev' sessions hook", "/a b/it's/omni-dev"],
  ['"/a b/omni-dev" --debug sessions hook', "/a b/omni-dev"],
  ["/a\\ b/omni-dev sessions hook", "/a b/omni-dev"],
  ["A=1 env B=2 /usr/bin/node /x/dist/omni-dev.js sessions hook", "/x/dist/omni-dev.js"],
  ["exec omni-dev sessions hook >/dev/null 2>&1 || true", "omni-dev"],
  ["omni-dev sessions hook 2> /dev/null; exit 0", "omni-dev"],
])("the program itself is known: %s", (command, program) => {
  expect(ownCommand(command)).toEqual({ kind: "direct", program });
});

test.each([
  ["/d/omni-dev/hook", "/d/omni-dev/hook"],
  ["'/d/omni-dev/hook' 2>/dev/null || :", "/d/omni-dev/hook"],
  ["'/d d/omni-dev/hook' --agent claude", "/d d/omni-dev/hook"],
])("the launcher is known in other dress: %s", (command, program) => {
  expect(ownCommand(command)).toEqual({ kind: "launcher", program });
});

test.each([
  "",
  "echo omni-dev sessions hook",
  "omni-dev sessions list",
  "omni-dev hook sessions",
  "my-omni-dev sessions hook",
  "log; omni-dev sessions hook",
  "omni-dev sessions hook | tee log",
  "omni-dev sessions hook && say done",
  "omni-dev sessions hook || notify failed",
  "omni-dev sessions hook $(date)",
  "omni-dev sessions hook `date`",
  "omni-dev sessions hook\nrm x",
  "'omni-dev sessions hook",
  "/opt/tracker/hook",
])("what is not ours alone is not ours: %s", (command) => {
  expect(ownCommand(command)).toBeUndefined();
});

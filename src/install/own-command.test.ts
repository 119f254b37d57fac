import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { hookCommand, ownCommand } from "./own-command.ts";

test("the command of an entry is known as ours, whatever the path", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (folder) => {
      const program = `/${folder.replaceAll("\0", "")}/omni-dev/hook`;
      expect(ownCommand(hookCommand(program))).toEqual({ kind: "launcher", program });
    }),
  );
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

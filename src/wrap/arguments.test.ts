import { expect, test } from "vitest";
import { filesNamedIn, parseArguments, sessionIn } from "./arguments.ts";

test("the wrapper's own arguments end with the first that is none of them", () => {
  expect(parseArguments(["claude", "--socket", "theirs", "--env", "A=1"])).toEqual({
    command: "claude",
    args: ["--socket", "theirs", "--env", "A=1"],
    socket: undefined,
    env: {},
    files: [],
  });
  const own = ["--socket", "s", "--env", "A=b=c", "--env", "B=", "--fd", "4", "--fd", "3"];
  const parsed = { socket: "s", env: { A: "b=c", B: "" }, files: [4, 3] };
  expect(parseArguments([...own, "--", "--socket", "x"])).toEqual({
    ...parsed,
    command: "--socket",
    args: ["x"],
  });
  expect(parseArguments([...own, "node", "cli.js"])).toEqual({
    ...parsed,
    command: "node",
    args: ["cli.js"],
  });
});

test.each([[[]], [["--"]], [["--socket", "s"]], [["--socket", "s", "--"]]])(
  "without a command there is nothing to run: %j",
  (argv) => {
    expect(parseArguments(argv)).toBeUndefined();
  },
);

const id = "22222222-2222-4222-8222-222222222222";

test.each([
  [["--resume", id], id, true],
  [[`--resume=${id}`], id, true],
  [["-r", id], id, true],
  [["cli.js", "-p", "--session-id", id], id, false],
  [["--resume", id, "--fork-session"], undefined, false],
  [["--resume", id, "--fork-session", "--session-id", id], id, false],
  [["--resume"], undefined, false],
  [["--resume", "my last talk"], undefined, false],
  [["--continue"], undefined, false],
  [[], undefined, false],
])("the session that %j names", (args, expected, isResumed) => {
  expect(sessionIn(args)).toEqual({ id: expected, isResumed });
});

test("files that Claude is to read secrets from are found by their variables", () => {
  expect(
    filesNamedIn({
      CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR: "3",
      CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR: "no",
      OTHER_FILE_DESCRIPTOR: "4",
    }),
  ).toEqual([3]);
});

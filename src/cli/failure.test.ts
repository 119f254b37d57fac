import { expect, test } from "vitest";
import { ToolError } from "../core/protocol/errors.ts";
import { tellFailure } from "./failure.ts";

function told(error: unknown, debug = false) {
  let text = "";
  const exit = tellFailure(error, debug, (more) => {
    text += more;
  });
  return { exit, text };
}

test("a daemon that is not there tells how to start it", () => {
  expect(told(new ToolError("daemonUnreachable", "Cannot reach it"))).toEqual({
    exit: 3,
    text: "Cannot reach it\nStart it with: omni-dev daemon start (with the same --socket, if you gave one)\n",
  });
});

test("what a daemon says cannot move the cursor", () => {
  expect(told(new ToolError("daemonRefused", "no\x1b[2J\nnever"))).toEqual({
    exit: 1,
    text: "no\\x1b[2J\\x0anever\n",
  });
});

test("a bug is one line and how to see more; then its stack and its cause", () => {
  const bug = new TypeError("x is undefined", { cause: new Error("deep") });
  expect(told(bug)).toEqual({
    exit: 1,
    text: "x is undefined\nThis is a bug. OMNI_DEV_DEBUG=1 shows where it comes from.\n",
  });
  const { text } = told(bug, true);
  expect(text).toContain("failure.test.ts");
  expect(text).toContain("deep");
});

test("what is thrown and no error is told, too", () => {
  expect(told("nonsense").text).toMatch(/^nonsense\n/);
});

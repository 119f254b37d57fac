import { expect, test } from "vitest";
import { runBriefly } from "./run-briefly.ts";

const env = process.env;

test("what a program says, how it ends, and what it was given", async () => {
  const script = 'cat; echo " oops" >&2; exit 3';
  expect(
    await runBriefly("/bin/sh", ["-c", script], { env, timeoutMs: 9000, input: "in" }),
  ).toEqual({ status: 3, output: "in oops\n" });
});

test("a program that does not end is stopped, with all that it has started", async () => {
  const script = "sleep 1000 & echo $!; wait";
  const { status, output } = await runBriefly("/bin/sh", ["-c", script], { env, timeoutMs: 300 });
  expect(status).toBeUndefined();
  await expect.poll(() => isAlive(Number(output))).toBe(false);
});

test("a program that is not there, and one that reads nothing, are no reason to throw", async () => {
  const missing = await runBriefly("/no/such/program", [], { env, timeoutMs: 9000 });
  const input = Buffer.alloc(1_000_000);
  const deaf = await runBriefly("/bin/sh", ["-c", "exit 0"], { env, timeoutMs: 9000, input });
  expect([missing.status, deaf]).toEqual([127, { status: 0, output: "" }]);
});

/** A stopped process may stay in the table until somebody takes note: that is not alive. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s*Z/m.test(readStatus(pid));
  } catch {
    return false;
  }
}

function readStatus(pid: number): string {
  const { readFileSync } = process.getBuiltinModule("node:fs");
  return process.platform === "linux" ? readFileSync(`/proc/${pid}/status`, "utf8") : "";
}

import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import {
  nearestProgram,
  parseParent,
  parsePs,
  parseStat,
  systemProcessTable,
} from "./process-table.ts";

test("a living process has a token that stays, a dead one is gone", async () => {
  const table = systemProcessTable();
  const child = spawn("sleep", ["60"]);
  await once(child, "spawn");
  const pid = child.pid ?? 0;
  const first = await table.check([pid, process.pid]);
  expect(first.get(pid)).toMatch(/\d/);
  expect(await table.check([pid, process.pid])).toEqual(first);

  child.kill("SIGKILL");
  await once(child, "exit");
  expect((await table.check([pid])).get(pid)).toBe("gone");
});

test("a name with brackets and spaces does not shift the fields; a zombie is gone", () => {
  const after = "1 1 1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 202623 1 1";
  expect(parseStat(`8154 (a) b (c)) S ${after}`)).toBe("202623");
  expect(parseStat(`8154 (claude) Z ${after}`)).toBe("gone");
});

test("what ps leaves out is gone, a zombie too", () => {
  const stdout = "  501 Ss   Sun Nov 29 17:42:52 2026\n  502 Z+   Sun Nov 29 17:42:53 2026    \n";
  expect([...parsePs(stdout, [501, 502, 503])]).toEqual([
    [501, "Sun Nov 29 17:42:52 2026"],
    [502, "gone"],
    [503, "gone"],
  ]);
});

test("the nearest ancestor that is no shell is found, through shells within shells", async () => {
  const script = "sh -c 'sleep 60; :' & wait; :";
  const shell = spawn("sh", ["-c", script], { detached: true });
  await once(shell, "spawn");
  try {
    expect(await nearestProgram(systemProcessTable(), shell.pid ?? 0)).toBe(process.pid);
    expect(await nearestProgram(systemProcessTable(), process.pid)).toBe(process.pid);
  } finally {
    process.kill(-(shell.pid ?? 0), "SIGKILL");
  }
});

test("a name with brackets is read whole", () => {
  expect(parseParent("12 (a) b) S 7 1 1")).toEqual({ parent: 7, name: "a) b" });
});

import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { FakeClock } from "../../test/harness/fake-clock.ts";
import { tempDir } from "../../test/harness/test-daemon.ts";
import { describeBug, fileLog } from "./log.ts";

const clock = new FakeClock();
const mode = (file: string) => (fs.statSync(file).mode & 0o777).toString(8);

test("a message is one line with time and level, in a file for its owner only", () => {
  const file = path.join(tempDir(), "daemon.log");
  fs.writeFileSync(file, "", { mode: 0o644 });
  const log = fileLog(file, clock);
  log("info", "one");
  log("error", "two\nlines");
  expect(fs.readFileSync(file, "utf8")).toBe(
    "2026-01-01T00:00:00.000Z info one\n2026-01-01T00:00:00.000Z error two lines\n",
  );
  expect(mode(file)).toBe("600");
});

test("a full log becomes the older one, and there is never a third", () => {
  const dir = tempDir();
  const file = path.join(dir, "daemon.log");
  const line = "2026-01-01T00:00:00.000Z info 0\n";
  const log = fileLog(file, clock, 2 * line.length);
  for (let i = 0; i < 7; i++) log("info", String(i));
  expect(fs.readdirSync(dir)).toEqual(["daemon.log", "daemon.log.1"]);
  const digits = [`${file}.1`, file].map((name) =>
    fs.readFileSync(name, "utf8").match(/\d(?=\n)/g),
  );
  expect(digits).toEqual([["4", "5"], ["6"]]);
  expect(mode(`${file}.1`)).toBe("600");
});

test("a log that cannot be written is silent, and one that was deleted comes back", () => {
  const dir = tempDir();
  fileLog(path.join(dir, "absent", "daemon.log"), clock)("info", "lost");
  const log = fileLog(path.join(dir, "daemon.log"), clock);
  log("info", "one");
  fs.rmSync(path.join(dir, "daemon.log"));
  log("info", "two");
  expect(fs.readdirSync(dir)).toEqual(["daemon.log"]);
});

test("a bug is told by its kind and place, never by its message", () => {
  const error = Object.assign(new RangeError("secret\n    at secret"), { code: "E1" });
  expect(describeBug(error)).toMatch(/^RangeError \(E1\) at .*log\.test\.ts/);
  expect(describeBug(error)).not.toContain("secret");
  expect(describeBug("secret")).toBe("a thrown string");
});

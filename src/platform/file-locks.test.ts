import { statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { holdLock } from "../../test/harness/lock-holder.ts";
import { tempDir } from "../../test/harness/test-daemon.ts";
import { deviceName, type FileLocks, parseLocks, perlLocks, procLocks } from "./file-locks.ts";

const ways: [string, () => FileLocks, boolean][] = [["perl", perlLocks, false]];
if (process.platform === "linux") ways.push(["/proc/locks", procLocks, true]);

test.each(ways)("%s tells a held lock from a free one and from none", async (_, make, tellsPid) => {
  const locks = make();
  const dir = tempDir();
  const [held, free, gone] = ["held it's.lock", "free.lock", "gone.lock"].map((name) =>
    path.join(dir, name),
  ) as [string, string, string];
  const holder = await holdLock(held);
  writeFileSync(free, "");

  const before = await locks.check([held, free, gone]);
  await holder.kill();
  const after = await locks.check([held]);

  const pid = tellsPid ? { pid: holder.pid } : {};
  expect([...before]).toEqual([
    [held, { held: true, ...pid }],
    [free, { held: false }],
    [gone, { held: false }],
  ]);
  expect([...after]).toEqual([[held, { held: false }]]);
});

test.each(ways)("%s keeps nobody from locking, and creates nothing", async (_, make) => {
  const locks = make();
  const dir = tempDir();
  const file = path.join(dir, "a.lock");
  writeFileSync(file, "");
  await locks.check([file, path.join(dir, "b.lock")]);
  await holdLock(file); // fails where the look still held it
  expect(statSync(path.join(dir, "b.lock"), { throwIfNoEntry: false })).toBeUndefined();
});

test("where nothing can tell, nothing is said", async () => {
  const file = path.join(tempDir(), "a.lock");
  writeFileSync(file, "");
  expect(await perlLocks("/nonexistent/perl").check([file])).toEqual(new Map());
  expect(await procLocks("/nonexistent/locks").check([file])).toEqual(new Map());
});

test("the kernel's table is read: exclusive locks that are held, not those that are waited for", () => {
  const table = [
    "1: FLOCK  ADVISORY  WRITE 28038 fe:00:2376891 0 EOF",
    "2: FLOCK  ADVISORY  READ 77 fe:00:12 0 EOF",
    "3: POSIX  ADVISORY  WRITE 78 103:02:13 128 128",
    "3: -> POSIX  ADVISORY  WRITE 79 103:02:13 128 128",
    "4: OFDLCK ADVISORY  WRITE -1 00:2f:14 0 EOF",
    "5: LEASE  ACTIVE    READ 80 fe:00:15 0 EOF",
    "",
  ].join("\n");
  expect([...parseLocks(table)]).toEqual([
    [2376891n, [{ pid: 28038, device: "fe:00" }]],
    [13n, [{ pid: 78, device: "103:02" }]],
    [14n, [{ pid: -1, device: "00:2f" }]],
  ]);
});

test("a device number is written as the kernel writes it", () => {
  expect(deviceName(0xfe00n)).toBe("fe:00");
  expect(deviceName(0x2fn)).toBe("00:2f");
  expect(deviceName((0x103n << 8n) | 0x2n)).toBe("103:02");
  expect(deviceName(0x8n | (0x1n << 20n))).toBe("00:108");
});

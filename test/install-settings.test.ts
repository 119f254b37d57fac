import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { installHooks, removeHooks } from "../src/install/claude-hooks.ts";
import { hookCommand } from "../src/install/own-command.ts";
import { type Change, rewriteFile } from "../src/install/settings-file.ts";
import { type Clock, systemClock } from "../src/platform/clock.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "omni-dev-test-")));
  file = path.join(folder, "settings.json");
});
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

/** Waits are short here: what is tested is what is done when they are over. */
const clock: Clock = {
  now: systemClock.now,
  after: (ms, run, signal) => systemClock.after(Math.min(ms, 5), run, signal),
};
const wanted = { command: hookCommand("/d/omni-dev/hook"), events: ["Stop"], unknown: [] };
const install = (at = file) => rewriteFile(at, (text) => installHooks(text, wanted), { clock });
const uninstall = (at = file) =>
  rewriteFile(at, (text) => (text === undefined ? undefined : removeHooks(text)), { clock });
const read = (at = file) => fs.readFileSync(at, "utf8");
const write = (text: string, mode = 0o644) => {
  fs.writeFileSync(file, text);
  fs.chmodSync(file, mode);
};
const modeOf = (at: string) => fs.statSync(at).mode & 0o7777;

test("a file that we created goes again, one that held anything else stays", async () => {
  const nested = path.join(folder, "a/b/settings.json");
  expect(await install(nested)).toMatchObject({ outcome: "created", target: nested });
  expect(modeOf(nested)).toBe(0o600);
  expect(await uninstall(nested)).toMatchObject({ outcome: "deleted" });
  expect(fs.existsSync(nested)).toBe(false);
  write("{}\n");
  await install();
  expect(await uninstall()).toMatchObject({ outcome: "changed" });
  expect(read()).toBe("{}\n");
});

test("mode and owner stay, and nothing is left beside the file", async () => {
  write('{"a":1}', 0o640);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) fs.chownSync(file, 12_345, 12_346);
  await install();
  const { uid, gid } = fs.statSync(file);
  expect([modeOf(file), ...(isRoot ? [uid, gid] : [])]).toEqual(
    isRoot ? [0o640, 12_345, 12_346] : [0o640],
  );
  expect(fs.readdirSync(folder)).toEqual(["settings.json"]);
});

test("a second time, the file is not even touched", async () => {
  write('{"a":1}');
  await install();
  const before = fs.statSync(file, { bigint: true });
  expect(await install()).toMatchObject({ outcome: "unchanged" });
  const after = fs.statSync(file, { bigint: true });
  expect([after.ino, after.mtimeNs]).toEqual([before.ino, before.mtimeNs]);
});

test("links of one and two steps stay, and the file they lead to is edited in its place", async () => {
  fs.mkdirSync(path.join(folder, "dotfiles"));
  const target = path.join(folder, "dotfiles/claude.json");
  fs.writeFileSync(target, '{"a":1}');
  fs.chmodSync(target, 0o600);
  fs.symlinkSync("dotfiles/claude.json", path.join(folder, "step"));
  fs.symlinkSync("step", file);
  expect(await install()).toMatchObject({ outcome: "changed", target });
  expect([fs.readlinkSync(file), fs.readlinkSync(path.join(folder, "step"))]).toEqual([
    "step",
    "dotfiles/claude.json",
  ]);
  expect([modeOf(target), read(target).includes("omni-dev/hook")]).toEqual([0o600, true]);
  await uninstall();
  expect(read(target)).toBe('{"a":1}');
});

test("a file behind a link is never deleted", async () => {
  const target = path.join(folder, "target.json");
  await install(target);
  fs.symlinkSync("target.json", file);
  expect(await uninstall()).toMatchObject({ outcome: "changed" });
  expect(JSON.parse(read(target))).toEqual({});
});

test.each([
  [
    "a link to nothing",
    () => fs.symlinkSync("nowhere", file),
    "is a link to a file that does not exist",
  ],
  ["a link to itself", () => fs.symlinkSync("settings.json", file), "cannot be read (ELOOP)"],
  ["a folder", () => fs.mkdirSync(file), "is no regular file"],
  [
    "bytes that are no UTF-8",
    () => fs.writeFileSync(file, Buffer.from([0x7b, 0xff, 0x7d])),
    "is no text in UTF-8",
  ],
  ["nothing in it", () => write(""), "is empty"],
  ["half an object", () => write('{"a":'), "is no valid JSON, not even with comments (line 1)"],
  ["a list", () => write("[1]"), "holds no JSON object"],
  [
    "a second name",
    () => {
      write("{}");
      fs.linkSync(file, path.join(folder, "second"));
    },
    "has a second name (a hard link), which a new file would not have",
  ],
])("%s is refused and left as it is", async (_, make, reason) => {
  make();
  const isFile = fs.lstatSync(file).isFile();
  const before = isFile && fs.readFileSync(file);
  await expect(install()).rejects.toThrow(reason);
  if (isFile) expect(fs.readFileSync(file)).toEqual(before);
  const left = fs.readdirSync(folder).filter((name) => !["settings.json", "second"].includes(name));
  expect(left).toEqual([]);
});

test("an empty or torn file is read again until its writer has finished", async () => {
  write("");
  const steps = ['{"a":', '{"a":1}'];
  const slow: Clock = {
    now: systemClock.now,
    after(_, run, signal) {
      const step = steps.shift();
      if (step !== undefined) write(step);
      systemClock.after(0, run, signal);
    },
  };
  await rewriteFile(file, (text) => installHooks(text, wanted), { clock: slow });
  expect(JSON.parse(read())).toMatchObject({ a: 1, hooks: { Stop: [{}] } });
});

test("a write that comes between reading and renaming is not lost, but read and edited", async () => {
  write('{"a":1}');
  let looks = 0;
  const change = (text: string | undefined): Change => {
    const changed = installHooks(text, wanted);
    looks += 1;
    if (looks === 1) write('{"a":1, "b":2}');
    return changed;
  };
  await rewriteFile(file, change, { clock });
  expect(JSON.parse(read())).toMatchObject({ a: 1, b: 2, hooks: { Stop: [{}] } });
});

test("a file that appears while we create ours is not replaced", async () => {
  let looks = 0;
  const change = (text: string | undefined): Change => {
    looks += 1;
    if (looks === 1) write('{"theirs":1}');
    return installHooks(text, wanted);
  };
  await rewriteFile(file, change, { clock });
  expect(JSON.parse(read())).toMatchObject({ theirs: 1, hooks: { Stop: [{}] } });
});

test("a write from an older reading that takes our entries away is repaired", async () => {
  write('{"a":1}');
  let isSettled = false;
  const rewriting: Clock = {
    now: systemClock.now,
    after(_, run, signal) {
      if (!isSettled) write('{"a":2}');
      isSettled = true;
      systemClock.after(0, run, signal);
    },
  };
  const { outcome } = await rewriteFile(file, (text) => installHooks(text, wanted), {
    clock: rewriting,
  });
  expect([outcome, JSON.parse(read())]).toMatchObject(["changed", { a: 2, hooks: { Stop: [{}] } }]);
});

test("a write into the old file, after ours has taken its place, is taken over", async () => {
  write('{"a":1}');
  const fd = fs.openSync(file, "r+");
  let isSettled = false;
  const late: Clock = {
    now: systemClock.now,
    after(_, run, signal) {
      if (!isSettled) fs.writeSync(fd, '{"a":2}', 0);
      isSettled = true;
      systemClock.after(0, run, signal);
    },
  };
  await rewriteFile(file, (text) => installHooks(text, wanted), { clock: late });
  fs.closeSync(fd);
  expect(JSON.parse(read())).toMatchObject({ a: 2, hooks: { Stop: [{}] } });
});

/** Adds one to a key every 5 ms without a lock, and counts how often its last write was undone. */
const writer = `
  const fs = require("node:fs");
  const [file] = process.argv.slice(1);
  let last = 0, undone = 0;
  const step = () => {
    const settings = JSON.parse(fs.readFileSync(file, "utf8"));
    if (settings.count !== last) undone += 1;
    settings.count = last + 1;
    fs.writeFileSync(file, JSON.stringify(settings, null, 2));
    last += 1;
  };
  const timer = setInterval(step, 5);
  process.stdout.write("ready");
  process.stdin.on("data", () => {
    clearInterval(timer);
    process.stdout.write(JSON.stringify({ last, undone }));
    process.stdin.destroy();
  });
`;

test("200 installs beside a busy writer: always whole, and its writes stay", async () => {
  write('{"count":0}');
  const child = spawn(process.execPath, ["-e", writer, file], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  try {
    await once(child.stdout, "data");
    for (let i = 0; i < 200; i++) {
      if (i % 10 === 9) await uninstall();
      await install();
    }
    child.stdin.write("stop");
    const [answer] = await once(child.stdout, "data");
    const { last, undone } = JSON.parse(String(answer));
    await exited;
    expect(undone).toBeLessThanOrEqual(2);
    expect(last).toBeGreaterThan(20);
    expect(JSON.parse(read())).toMatchObject({ count: expect.any(Number), hooks: { Stop: [{}] } });
    expect(fs.readdirSync(folder)).toEqual(["settings.json"]);
  } finally {
    child.kill();
    await exited;
  }
}, 60_000);

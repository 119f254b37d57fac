import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { leaveStaleSocket, tempDir, Wire } from "../../test/harness/test-daemon.ts";
import { socketPathLimit } from "../platform/paths.ts";
import { type Claim, claimSocket } from "./socket.ts";

const uid = process.geteuid?.() ?? -1;
const { platform } = process;
const modeOf = (file: string) => (fs.statSync(file).mode & 0o7777).toString(8);

/** Claims a socket, which is released when the test ends. */
async function claim(
  socketPath: string,
  options: { isDefault?: boolean; patienceMs?: number } = {},
): Promise<Claim> {
  const held = await claimSocket({ socketPath, isDefault: false, uid, platform, ...options });
  onTestFinished(() => held.release());
  return held;
}

/** Answers every line as a daemon would; a server that is not one of ours says something else. */
async function listenAt(socketPath: string, answer: string | undefined): Promise<void> {
  const server = net.createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", () => answer && socket.write(answer));
    onTestFinished(() => void socket.destroy());
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
}

const refusal = (code: string, words: string | RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(words) });

test("the socket is 0600 and its new directory 0700, whatever the umask", async () => {
  const dir = path.join(tempDir(), "a", "b");
  for (const mask of [0o000, 0o077]) {
    const before = process.umask(mask);
    const held = claim(path.join(dir, "d.sock"));
    process.umask(before);
    await held;
    expect([modeOf(dir), modeOf(path.join(dir, "d.sock")), fs.readdirSync(dir)]).toEqual([
      "700",
      "600",
      ["d.sock"],
    ]);
    (await held).release();
    expect(fs.readdirSync(dir)).toEqual([]);
  }
});

test("the socket is never looser than 0600, not even before its mode is set", async () => {
  const socketPath = path.join(tempDir(), "d.sock");
  const setMode = vi.spyOn(fs, "chmodSync").mockImplementation(() => {});
  onTestFinished(() => setMode.mockRestore());
  const before = process.umask(0);
  onTestFinished(() => void process.umask(before));
  await claim(socketPath);
  expect(modeOf(socketPath)).toBe("600");
});

test("a looser directory of ours is tightened; one with other things in it keeps its mode", async () => {
  const [bare, home, given] = [tempDir(), tempDir(), tempDir()];
  for (const dir of [bare, home, given]) fs.chmodSync(dir, 0o755);
  for (const dir of [home, given]) fs.writeFileSync(path.join(dir, "notes"), "");
  fs.writeFileSync(path.join(bare, "daemon.log"), "");
  await claim(path.join(bare, "d.sock"));
  await claim(path.join(home, "d.sock"), { isDefault: true });
  await claim(path.join(given, "d.sock"));
  expect([bare, home, given].map(modeOf)).toEqual(["700", "700", "755"]);
});

test("a directory that others can write to is refused and left as it is", async () => {
  for (const mode of ["1777", "775"]) {
    const dir = tempDir();
    fs.writeFileSync(path.join(dir, "notes"), "");
    fs.chmodSync(dir, Number.parseInt(mode, 8));
    await expect(claim(path.join(dir, "d.sock"))).rejects.toEqual(
      refusal("socketPathUnsafe", "other users can write there"),
    );
    expect([modeOf(dir), fs.readdirSync(dir)]).toEqual([mode, ["notes"]]);
  }
});

test("another user's directory is refused, by itself and behind a link", async () => {
  const nobody = 65_534;
  const dir = uid === 0 ? tempDir() : "/";
  if (uid === 0) fs.chownSync(dir, nobody, nobody);
  const link = path.join(tempDir(), "link");
  fs.symlinkSync(dir, link);
  for (const place of [dir, link])
    await expect(claim(path.join(place, "d.sock"), { isDefault: true })).rejects.toEqual(
      refusal("socketPathUnsafe", `belongs to another user \\(uid ${uid === 0 ? nobody : 0}\\)`),
    );
});

test("another user's link is refused although it leads to a directory of ours", async () => {
  const dir = tempDir();
  const link = path.join(tempDir(), "link");
  fs.symlinkSync(dir, link);
  // Only root can give a link away; for everybody else the check is asked to be somebody else.
  if (uid === 0) fs.lchownSync(link, 65_534, 65_534);
  const asked = claimSocket({
    socketPath: path.join(link, "d.sock"),
    isDefault: false,
    uid: uid === 0 ? 0 : uid + 1,
    platform,
  });
  await expect(asked).rejects.toEqual(refusal("socketPathUnsafe", "another user"));
});

test("a directory that cannot be made is told", async () => {
  const file = path.join(tempDir(), "file");
  fs.writeFileSync(file, "");
  await expect(claim(path.join(file, "sub", "d.sock"))).rejects.toEqual(
    refusal("daemonStartFailed", `Cannot use the directory ${file}/sub`),
  );
});

test("a path of the limit works with the shortest name, one byte more is refused", async () => {
  const dir = tempDir();
  const limit = socketPathLimit(platform);
  const pad = "p".repeat(limit - dir.length - "//s".length);
  const longest = path.join(dir, pad, "s");
  expect(Buffer.byteLength(longest)).toBe(limit);
  const held = await claim(longest);
  expect([held.check(), fs.readdirSync(path.dirname(longest))]).toEqual(["ours", ["s"]]);
  await expect(claim(`${longest}s`)).rejects.toEqual(
    refusal("socketPathTooLong", `${limit + 1} bytes, the system allows ${limit}`),
  );
});

test("what is not a socket is left alone", async () => {
  const dir = tempDir();
  const file = path.join(dir, "file");
  fs.writeFileSync(file, "precious");
  fs.symlinkSync(file, path.join(dir, "link"));
  for (const name of ["file", "link"])
    await expect(claim(path.join(dir, name))).rejects.toEqual(
      refusal("socketPathUnsafe", "not a socket"),
    );
  expect(fs.readFileSync(file, "utf8")).toBe("precious");
  expect(fs.readdirSync(dir)).toEqual(["file", "link"]);
});

test("a socket that nobody listens at is replaced", async () => {
  const socketPath = path.join(tempDir(), "d.sock");
  await leaveStaleSocket(socketPath);
  const held = await claim(socketPath);
  expect(held.check()).toBe("ours");
  await Wire.open(socketPath);
});

test("a socket that somebody holds is left alone, and the refusal says what holds it", async () => {
  const dir = tempDir();
  const at = (name: string) => path.join(dir, name);
  await listenAt(at("daemon"), '{"ok":false,"error":"busy"}\n');
  await listenAt(at("silent"), undefined);
  await listenAt(at("stranger"), "220 smtp\n");
  await expect(claim(at("daemon"))).rejects.toEqual(
    refusal("daemonRunning", /already listens at .*daemon\.$/),
  );
  await expect(claim(at("silent"), { patienceMs: 50 })).rejects.toEqual(
    refusal("daemonRunning", "does not answer"),
  );
  await expect(claim(at("stranger"))).rejects.toEqual(
    refusal("daemonRunning", "another program's"),
  );
  expect(fs.readdirSync(dir)).toEqual(["daemon", "silent", "stranger"]);
});

test("of many claims at one instant exactly one is kept", async () => {
  for (let round = 0; round < 10; round++) {
    const socketPath = path.join(tempDir(), "d.sock");
    if (round % 2) await leaveStaleSocket(socketPath);
    const claims = Array.from({ length: 5 }, () =>
      claimSocket({ socketPath, isDefault: false, uid, platform, patienceMs: 100 }),
    );
    const kept = (await Promise.allSettled(claims)).flatMap((result) =>
      result.status === "fulfilled" ? [result.value] : [],
    );
    expect(kept.map((held) => held.check())).toEqual(["ours"]);
    for (const held of kept) held.release();
    expect(fs.readdirSync(path.dirname(socketPath))).toEqual([]);
  }
});

test("a start that another one overtook while it settled gives way", async () => {
  const dir = tempDir();
  const socketPath = path.join(dir, "d.sock");
  await listenAt(path.join(dir, "other"), undefined);
  const asked = claim(socketPath);
  await new Promise(setImmediate);
  expect(fs.existsSync(socketPath)).toBe(true);
  fs.renameSync(path.join(dir, "other"), socketPath);
  await expect(asked).rejects.toEqual(refusal("daemonRunning", "at the same time"));
  expect(fs.readdirSync(dir)).toEqual(["d.sock"]);
});

test("a claim whose path was taken is displaced, and does not remove its successor's", async () => {
  const socketPath = path.join(tempDir(), "d.sock");
  const first = await claim(socketPath);
  fs.unlinkSync(socketPath);
  expect(first.check()).toBe("missing");
  const second = await claim(socketPath);
  expect([first.check(), second.check()]).toEqual(["displaced", "ours"]);
  await first.restore();
  first.release();
  expect(second.check()).toBe("ours");
  await Wire.open(socketPath);
});

test("a missing path is restored with its directory, and serves", async () => {
  const dir = path.join(tempDir(), "sub");
  const socketPath = path.join(dir, "d.sock");
  const held = await claim(socketPath);
  held.serve((socket) => socket.end("hello\n"));
  fs.rmSync(dir, { recursive: true });
  await held.restore();
  expect([held.check(), modeOf(dir), modeOf(socketPath)]).toEqual(["ours", "700", "600"]);
  expect(await (await Wire.open(socketPath)).line()).toBe("hello");
  held.release();
  expect(fs.readdirSync(dir)).toEqual([]);
});

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { buildSync } from "esbuild";
import { expect, onTestFinished, test, vi } from "vitest";
import { Topic } from "../src/daemon/topic.ts";
import { FakeClock } from "./harness/fake-clock.ts";
import {
  fakeService,
  gate,
  leaveStaleSocket,
  startTestDaemon,
  tempDir,
  Wire,
} from "./harness/test-daemon.ts";

const subscribe = { service: "sessions", op: "subscribe" };
const ping = { op: "ping" };
const pong = '{"ok":true,"payload":{"pong":true}}';

/** A daemon that streams one value, which the test sets. */
async function streaming(first: unknown) {
  const clock = new FakeClock();
  let value = first;
  const topic = new Topic({ snapshot: () => JSON.stringify(value), clock, resampleMs: 10_000 });
  const daemon = await startTestDaemon(
    fakeService({ handlers: { list: () => value }, streams: { subscribe: topic } }),
  );
  const set = (next: unknown) => {
    value = next;
    clock.advance(30);
    topic.changed();
  };
  return { ...daemon, clock, set };
}

/** Subscribes and reads the first frame. */
async function subscriber(socketPath: string): Promise<Wire> {
  const wire = await Wire.open(socketPath);
  wire.send(subscribe);
  await wire.line();
  return wire;
}

test("a frame is the same bytes as list", async () => {
  const { socketPath, set } = await streaming({ sessions: [] });
  const wire = await subscriber(socketPath);
  set({ sessions: [{ session_id: "ä" }] });
  const lister = await Wire.open(socketPath);
  lister.send({ service: "sessions", op: "list" });
  expect(await wire.line()).toBe(await lister.line());
});

test("any further line ends a subscription, be it empty or sent with it; half a line does not", async () => {
  const { socketPath, set } = await streaming(1);
  for (const further of ["\n", "{}\n", `${JSON.stringify(ping)}\n`]) {
    const wire = await subscriber(socketPath);
    wire.socket.write("{");
    set(`${further} 1`);
    expect(await wire.json()).toMatchObject({ ok: true });
    wire.socket.write(further);
    expect(await wire.rest()).toEqual([]);
  }
  set(1);
  const both = await Wire.open(socketPath);
  both.send(ping, subscribe, ping);
  expect(await both.rest()).toEqual([pong, '{"ok":true,"payload":1}']);
  const ended = await Wire.open(socketPath);
  ended.socket.end(`${JSON.stringify(subscribe)}\n`);
  expect(await ended.rest()).toEqual(['{"ok":true,"payload":1}']);
});

test("a subscription that waited for an earlier answer can be cancelled like any other", async () => {
  const topic = new Topic({ snapshot: () => "1", clock: new FakeClock(), resampleMs: 10_000 });
  const [slow, asked] = [gate(), gate()];
  const list = async () => {
    asked.open();
    await slow.opened;
  };
  const { socketPath } = await startTestDaemon(
    fakeService({ handlers: { list }, streams: { subscribe: topic } }),
  );
  const wire = await Wire.open(socketPath);
  wire.send({ service: "sessions", op: "list" });
  await asked.opened;
  wire.send(subscribe);
  const other = await Wire.open(socketPath);
  other.send(ping);
  await other.line();
  slow.open();
  expect([await wire.line(), await wire.json()]).toEqual([
    '{"ok":true,"payload":null}',
    { ok: true, payload: 1 },
  ]);
  wire.socket.write("\n");
  expect(await wire.rest()).toEqual([]);
});

test("a subscription that ended costs nothing any more", async () => {
  const { socketPath, clock } = await streaming(1);
  expect(clock.pending).toBe(0);
  const wire = await subscriber(socketPath);
  expect(clock.pending).toBeGreaterThan(0);
  wire.socket.destroy();
  await vi.waitFor(() => expect(clock.pending).toBe(0));
});

test("a subscriber that never reads delays nobody, holds one frame, and ends with the newest", async () => {
  const big = (value: number) => ({ value, pad: "x".repeat(400_000) });
  const { socketPath, set } = await streaming(big(0));
  const stalled = await subscriber(socketPath);
  stalled.socket.pause();
  const reader = await subscriber(socketPath);

  const last = 60;
  for (let value = 1; value <= last; value++) {
    set(big(value));
    expect(await reader.json()).toMatchObject({ payload: { value } });
  }
  stalled.socket.resume();
  const values: number[] = [];
  while (values.at(-1) !== last) {
    const frame = (await stalled.json()) as { payload: { value: number } };
    values.push(frame.payload.value);
  }
  // What lies before the newest is what the system's own buffers and one held frame had taken.
  expect(values.length).toBeLessThan(20);
  expect(values).toEqual([...new Set(values)].sort((a, b) => a - b));

  set(big(last));
  set(big(last + 1));
  expect(await stalled.json()).toMatchObject({ payload: { value: last + 1 } });
});

/** Bundles a program that starts a daemon at the path it is given and says how that went. */
function daemonProgram(): string {
  const outfile = path.join(tempDir(), "daemon.mjs");
  buildSync({
    stdin: {
      contents: `
        import { startDaemon } from "./src/daemon/daemon.ts";
        import { systemClock } from "./src/platform/clock.ts";
        const say = (word) => console.log(word);
        const options = { socketPath: process.argv[2], isDefault: false, clock: systemClock };
        process.stdin.once("data", () =>
          startDaemon({ ...options, services: () => [], log: () => {} }).then(
            (daemon) => { say("running"); daemon.done.then((how) => { say(how); process.exit(); }); },
            (error) => { say(error.code); process.exit(); },
          ),
        );
        say("ready");`,
      resolveDir: path.join(import.meta.dirname, ".."),
      loader: "js",
    },
    define: { __OMNI_DEV_VERSION__: '"0"' },
    bundle: true,
    platform: "node",
    format: "esm",
    outfile,
  });
  return outfile;
}

/** Runs that program up to the point where one byte on its input starts the daemon. */
async function spawnDaemon(program: string, socketPath: string) {
  const child: ChildProcess = spawn(process.execPath, [program, socketPath], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  });
  if (!child.stdout) throw new Error("no output");
  const words = createInterface(child.stdout)[Symbol.asyncIterator]();
  const word = async () => (await words.next()).value as string | undefined;
  expect(await word()).toBe("ready");
  return { child, word, start: () => child.stdin?.write("x") };
}

test("of many processes that start at one instant exactly one becomes the daemon", async () => {
  const program = daemonProgram();
  for (const before of ["nothing", "stale", "stale"]) {
    const socketPath = path.join(tempDir(), "d.sock");
    if (before === "stale") await leaveStaleSocket(socketPath);
    const starts = await Promise.all([1, 2, 3, 4].map(() => spawnDaemon(program, socketPath)));
    for (const { start } of starts) start();
    // A start that was held up between its last look and its rename displaces one that was
    // already running, which then says so and goes.
    const ends = await Promise.all(
      starts.map(async ({ child, word }) => ({ child, said: await word() })),
    );
    const running = ends.filter(({ said }) => said === "running");
    expect(running.length).toBeGreaterThanOrEqual(1);
    expect(ends.filter(({ said }) => said === "daemonRunning").length).toBe(4 - running.length);
    await vi.waitFor(
      () => expect(running.filter(({ child }) => child.exitCode === null).length).toBe(1),
      { timeout: 10_000 },
    );
    const wire = await Wire.open(socketPath);
    wire.send(ping);
    expect(await wire.line()).toBe(pong);
    expect(fs.readdirSync(path.dirname(socketPath))).toEqual(["d.sock"]);
  }
});

test("after a daemon was killed the next one takes its place", async () => {
  const program = daemonProgram();
  const socketPath = path.join(tempDir(), "d.sock");
  const first = await spawnDaemon(program, socketPath);
  first.start();
  expect(await first.word()).toBe("running");
  first.child.kill("SIGKILL");
  await once(first.child, "exit");
  expect(fs.existsSync(socketPath)).toBe(true);

  const second = await spawnDaemon(program, socketPath);
  second.start();
  expect(await second.word()).toBe("running");
  const wire = await Wire.open(socketPath);
  wire.send(ping, { op: "shutdown" });
  expect(await wire.rest()).toEqual([pong, '{"ok":true,"payload":{"stopping":true}}']);
  expect(await second.word()).toBe("stopped");
  expect(fs.existsSync(socketPath)).toBe(false);
});

import fs from "node:fs";
import path from "node:path";
import { expect, test, vi } from "vitest";
import { FakeClock } from "../../test/harness/fake-clock.ts";
import {
  fakeService,
  gate,
  leaveStaleSocket,
  startTestDaemon,
  tempDir,
  Wire,
} from "../../test/harness/test-daemon.ts";
import { systemClock } from "../platform/clock.ts";
import { startDaemon } from "./daemon.ts";
import { memoryLog } from "./log.ts";
import type { ServiceContext } from "./service.ts";
import { Topic } from "./topic.ts";

const list = { service: "sessions", op: "list" };
const answers = async (socketPath: string) => {
  const wire = await Wire.open(socketPath);
  wire.send({ op: "ping" });
  return wire.json();
};
const pong = { ok: true, payload: { pong: true } };

test("status tells each service's row and the version", async () => {
  const { socketPath } = await startTestDaemon(fakeService());
  const wire = await Wire.open(socketPath);
  wire.send({ service: "daemon", op: "status" }, { service: null, op: "ping" });
  expect(await wire.json()).toEqual({
    ok: true,
    payload: {
      services: [{ name: "sessions", healthy: true, summary: "fake", detail: null }],
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    },
  });
  expect(await wire.json()).toEqual(pong);
});

test("shutdown answers, lets a reply in flight finish, ends streams and removes the socket", async () => {
  const slow = gate();
  const asked = gate();
  const topic = new Topic({ snapshot: () => "1", clock: systemClock, resampleMs: 10_000 });
  let context: ServiceContext | undefined;
  const daemon = await startTestDaemon(undefined, {
    services: (given) => {
      context = given;
      return [
        fakeService({
          handlers: {
            list: async () => {
              asked.open();
              await slow.opened;
              return { sessions: [], alive: !given.signal.aborted };
            },
          },
          streams: { subscribe: topic },
        }),
      ];
    },
  });
  const [busy, reader, idle, boss] = [
    await Wire.open(daemon.socketPath),
    await Wire.open(daemon.socketPath),
    await Wire.open(daemon.socketPath),
    await Wire.open(daemon.socketPath),
  ];
  reader.send({ service: "sessions", op: "subscribe" });
  await reader.json();
  busy.send(list, { op: "ping" });
  await asked.opened;
  boss.send({ op: "shutdown" });
  expect(await boss.json()).toEqual({ ok: true, payload: { stopping: true } });
  expect(await Promise.all([boss.rest(), idle.rest(), reader.rest()])).toEqual([[], [], []]);
  expect(fs.readdirSync(path.dirname(daemon.socketPath))).toEqual([]);
  expect(context?.signal.aborted).toBe(false);
  slow.open();
  expect(await busy.rest()).toEqual([
    '{"ok":true,"payload":{"sessions":[],"alive":true}}',
    '{"ok":true,"payload":{"pong":true}}',
  ]);
  expect(await daemon.done).toBe("stopped");
  expect(context?.signal.aborted).toBe(true);
});

test("what does not finish in 5 s is broken off", async () => {
  const clock = new FakeClock();
  const asked = gate();
  const daemon = await startTestDaemon(
    fakeService({
      handlers: {
        list: () => {
          asked.open();
          return new Promise(() => {});
        },
      },
    }),
    { clock },
  );
  const wire = await Wire.open(daemon.socketPath);
  wire.send(list);
  await asked.opened;
  const stopped = daemon.stop();
  clock.advance(4_999);
  expect(wire.socket.destroyed).toBe(false);
  clock.advance(1);
  await stopped;
  expect(await wire.rest()).toEqual([]);
});

test("the caller's signal stops the daemon, also one that was aborted before the start", async () => {
  const abort = new AbortController();
  const running = await startTestDaemon(undefined, { signal: abort.signal });
  abort.abort();
  expect(await running.done).toBe("stopped");
  const late = await startTestDaemon(undefined, { signal: abort.signal });
  expect(await late.done).toBe("stopped");
  expect(fs.existsSync(late.socketPath)).toBe(false);
});

test("services are made once the socket is sure, and a failure there gives it back", async () => {
  const socketPath = path.join(tempDir(), "d.sock");
  const start = (services: () => never) =>
    startDaemon({
      socketPath,
      isDefault: false,
      clock: systemClock,
      log: memoryLog().log,
      services,
    });
  const fail = () => {
    throw new Error("no disk");
  };
  await expect(start(fail)).rejects.toThrow("no disk");
  expect(fs.existsSync(socketPath)).toBe(false);

  const first = await startTestDaemon(undefined, { socketPath });
  await expect(start(fail)).rejects.toMatchObject({ code: "daemonRunning" });
  expect(await answers(first.socketPath)).toEqual(pong);
});

test("two starts at the same instant end with one daemon", async () => {
  for (let round = 0; round < 10; round++) {
    const socketPath = path.join(tempDir(), "d.sock");
    if (round % 2) await leaveStaleSocket(socketPath);
    const starts = await Promise.allSettled([
      startTestDaemon(undefined, { socketPath }),
      startTestDaemon(undefined, { socketPath }),
    ]);
    expect(starts.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(starts).toContainEqual({
      status: "rejected",
      reason: expect.objectContaining({ code: "daemonRunning" }),
    });
    expect(await answers(socketPath)).toEqual(pong);
  }
});

test("a socket that was removed comes back, and connections live on", async () => {
  const clock = new FakeClock();
  const { socketPath, logged } = await startTestDaemon(undefined, { clock });
  const wire = await Wire.open(socketPath);
  fs.unlinkSync(socketPath);
  clock.advance(2000);
  await vi.waitFor(async () => expect(await answers(socketPath)).toEqual(pong));
  wire.send({ op: "ping" });
  expect(await wire.json()).toEqual(pong);
  expect(logged).toContain("warn The socket was removed; listening again.");
});

test("a displaced daemon stops, and leaves its successor's socket", async () => {
  const clock = new FakeClock();
  const first = await startTestDaemon(undefined, { clock });
  const { socketPath } = first;
  const wire = await Wire.open(socketPath);
  fs.unlinkSync(socketPath);
  await startTestDaemon(undefined, { socketPath });
  clock.advance(2000);
  expect(await first.done).toBe("displaced");
  expect(await wire.rest()).toEqual([]);
  expect(await answers(socketPath)).toEqual(pong);
});

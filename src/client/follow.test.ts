import { expect, onTestFinished, test } from "vitest";
import { FakeClock } from "../../test/harness/fake-clock.ts";
import { FakeDaemon, Seen } from "../../test/harness/fake-daemon.ts";
import { type FollowState, follow } from "./follow.ts";

const frame = (payload: unknown) => `${JSON.stringify({ ok: true, payload })}\n`;
const REFUSAL = '{"ok":false,"error":"unknown sessions op: subscribe"}\n';

/** Follows a daemon until the test ends. `random` decides each pause: 0 the shortest, 1 the longest. */
function start(socketPath: string, random = 0) {
  const clock = new FakeClock();
  const abort = new AbortController();
  const frames = new Seen<string>();
  const states = new Seen<FollowState>();
  const end = follow(socketPath, {
    service: "sessions",
    stream: "subscribe",
    poll: "list",
    onFrame: frames.add,
    onState: states.add,
    signal: abort.signal,
    clock,
    random: () => random,
  });
  onTestFinished(async () => {
    abort.abort();
    await end;
  });
  return { clock, abort, frames, states, end };
}

test("a lost connection is made again, and garbage counts as lost", async () => {
  let count = 0;
  const daemon = await new FakeDaemon((socket) => {
    count++;
    socket.write(frame(count));
    if (count === 2) socket.write("garbage\n");
  }).listen();
  const { clock, frames, states } = start(daemon.socketPath);
  await frames.first(1);
  daemon.hangUp();
  await states.first(2);
  clock.advance(500);
  await states.first(4);
  clock.advance(500);
  expect(await frames.first(3)).toEqual(["1", "2", "3"]);
  expect(states.values).toEqual(["connected", "lost", "connected", "lost", "connected"]);
});

test("pauses grow from 0.5 s to 10 s while nobody is there", async () => {
  for (const [random, pauses] of [
    [0, [500, 1000, 2000, 4000, 5000, 5000]],
    [1, [1000, 2000, 4000, 8000, 10_000, 10_000]],
  ] as const) {
    const clock = new FakeClock();
    const timers = new Seen<number>();
    const abort = new AbortController();
    const end = follow("/nonexistent/d.sock", {
      service: "sessions",
      stream: "subscribe",
      poll: "list",
      onFrame: () => {},
      onState: () => {},
      signal: abort.signal,
      random: () => random,
      clock: {
        now: () => clock.now(),
        after: (ms, run, signal) => {
          clock.after(ms, run, signal);
          timers.add(ms);
        },
      },
    });
    // Each attempt sets a timer for the connection, and then one for the pause after it.
    for (const attempt of pauses.keys()) {
      const set = await timers.first(2 * attempt + 2);
      clock.advance(set.at(-1) ?? 0);
    }
    expect(timers.values.filter((_, i) => i % 2).slice(0, pauses.length)).toEqual(pauses);
    abort.abort();
    await end;
  }
});

test("a daemon that does not stream is polled, and asked to stream again after a restart", async () => {
  let value = 1;
  const daemon = await new FakeDaemon((socket, line) =>
    socket.write(line.includes('"list"') ? frame(value) : REFUSAL),
  ).listen();
  const { clock, frames, states } = start(daemon.socketPath);
  await frames.first(1);
  for (value of [1, 2]) {
    const asked = daemon.asked.length;
    while (daemon.asked.length === asked) {
      clock.advance(2000);
      await new Promise(setImmediate);
    }
  }
  expect(await frames.first(2)).toEqual(["1", "2"]);
  expect(daemon.asked.filter((op) => op === "subscribe")).toEqual(["subscribe"]);

  daemon.answer = (socket) => socket.write(frame("new"));
  daemon.hangUp();
  while (states.values.length < 2) {
    clock.advance(2000);
    await new Promise(setImmediate);
  }
  clock.advance(500);
  expect(await frames.first(3)).toEqual(["1", "2", '"new"']);
  expect(states.values).toEqual(["polling", "lost", "connected"]);
});

test("aborting ends it in every state", async () => {
  const streaming = await new FakeDaemon((socket) => socket.write(frame(1))).listen();
  const refusing = await new FakeDaemon((socket, line) =>
    socket.write(line.includes('"list"') ? frame(1) : REFUSAL),
  ).listen();
  const [connected, polling, lost] = [
    start(streaming.socketPath),
    start(refusing.socketPath),
    start("/nonexistent/d.sock"),
  ];
  await Promise.all([connected.frames.first(1), polling.frames.first(1), lost.states.first(1)]);
  for (const { abort, end, clock } of [connected, polling, lost]) {
    abort.abort();
    await end;
    expect(clock.pending).toBe(0);
  }
});

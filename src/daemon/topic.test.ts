import { expect, test } from "vitest";
import { FakeClock } from "../../test/harness/fake-clock.ts";
import { resampleMs, type Subscriber, Topic } from "./topic.ts";

/** Takes every frame, and lets it leave at once or when told to. */
class Reader implements Subscriber {
  readonly frames: Buffer[] = [];
  stalled = false;
  #held: (() => void)[] = [];

  write(frame: Buffer, done: () => void): void {
    this.frames.push(frame);
    if (this.stalled) this.#held.push(done);
    else done();
  }

  get held(): number {
    return this.#held.length;
  }

  read(): void {
    this.stalled = false;
    for (const done of this.#held.splice(0)) done();
  }

  get values(): unknown[] {
    return this.frames.map((frame) => JSON.parse(frame.toString()).payload);
  }
}

function setUp() {
  const clock = new FakeClock();
  const state = { value: 0, taken: 0 };
  const topic = new Topic({
    snapshot: () => {
      state.taken++;
      return JSON.stringify(state.value);
    },
    clock,
    resampleMs: 10_000,
  });
  const set = (value: number) => {
    state.value = value;
    topic.changed();
  };
  return { clock, state, topic, set };
}

test("a subscriber gets a frame at once, and each change after it", () => {
  const { clock, topic, set } = setUp();
  const reader = new Reader();
  topic.add(reader);
  clock.advance(30);
  set(1);
  clock.advance(30);
  set(2);
  expect(reader.frames.map(String)).toEqual(
    [0, 1, 2].map((value) => `{"ok":true,"payload":${value}}\n`),
  );
});

test("a burst gives its first change and its last", () => {
  const { clock, state, topic, set } = setUp();
  const reader = new Reader();
  topic.add(reader);
  clock.advance(30);
  for (let value = 1; value <= 50; value++) set(value);
  clock.advance(29);
  expect(reader.values).toEqual([0, 1]);
  clock.advance(1);
  expect({ values: reader.values, taken: state.taken }).toEqual({ values: [0, 1, 50], taken: 3 });
});

test("a change is serialised once, and its one buffer goes to all", () => {
  const { clock, state, topic, set } = setUp();
  const readers = [new Reader(), new Reader(), new Reader()];
  for (const reader of readers) topic.add(reader);
  clock.advance(30);
  const before = state.taken;
  set(1);
  expect(state.taken).toBe(before + 1);
  expect(new Set(readers.map((reader) => reader.frames.at(-1))).size).toBe(1);
});

test("equal frames never follow each other", () => {
  const { clock, topic, set } = setUp();
  const reader = new Reader();
  topic.add(reader);
  clock.advance(30);
  set(0);
  clock.advance(30);
  set(1);
  topic.add(new Reader());
  set(2);
  set(1);
  clock.advance(30_000);
  expect(reader.values).toEqual([0, 1]);
});

test("one that does not read holds one frame, delays nobody, and then gets the newest", () => {
  const { clock, topic, set } = setUp();
  const [stalled, reader] = [new Reader(), new Reader()];
  stalled.stalled = true;
  topic.add(stalled);
  topic.add(reader);
  for (let value = 1; value <= 5; value++) {
    clock.advance(30);
    set(value);
  }
  expect({ held: stalled.held, values: stalled.values }).toEqual({ held: 1, values: [0] });
  expect(reader.values).toEqual([0, 1, 2, 3, 4, 5]);
  stalled.read();
  expect(stalled.values).toEqual([0, 5]);
});

test("one that did not read gets nothing new when all is again as it last saw it", () => {
  const { clock, topic, set } = setUp();
  const stalled = new Reader();
  stalled.stalled = true;
  topic.add(stalled);
  for (const value of [1, 0]) {
    clock.advance(30);
    set(value);
  }
  stalled.read();
  expect(stalled.values).toEqual([0]);
});

test("changes that nobody told of are found by the re-sample", () => {
  const { clock, state, topic } = setUp();
  const reader = new Reader();
  topic.add(reader);
  state.value = 7;
  clock.advance(9_999);
  expect(reader.values).toEqual([0]);
  clock.advance(1);
  expect(reader.values).toEqual([0, 7]);
});

test("without subscribers nothing is serialised and no timer runs", () => {
  const { clock, state, topic, set } = setUp();
  set(1);
  expect({ taken: state.taken, timers: clock.pending }).toEqual({ taken: 0, timers: 0 });
  const leave = topic.add(new Reader());
  leave();
  leave();
  set(2);
  clock.advance(60_000);
  expect({ taken: state.taken, timers: clock.pending }).toEqual({ taken: 1, timers: 0 });
});

test("one that comes back after all had left gets the state of now", () => {
  const { topic, set } = setUp();
  topic.add(new Reader())();
  set(3);
  const reader = new Reader();
  topic.add(reader);
  expect(reader.values).toEqual([3]);
});

test("a subscriber whose connection broke is forgotten; a closed topic forgets all", () => {
  const { clock, topic, set } = setUp();
  const broken: Subscriber = { write: (_, done) => done(new Error("gone")) };
  topic.add(broken);
  expect(clock.pending).toBe(0);
  const reader = new Reader();
  topic.add(reader);
  topic.close();
  set(1);
  topic.add(reader);
  expect({ values: reader.values, timers: clock.pending }).toEqual({ values: [0], timers: 0 });
});

test("the tick is read in seconds with decimals; what is no such number is the default", () => {
  const settings = ["0.5", "3", "0.001", undefined, "", "0", "-1", "soon", "Infinity", "1e400"];
  expect(settings.map(resampleMs)).toEqual([
    500, 3000, 10, 10_000, 10_000, 10_000, 10_000, 10_000, 10_000, 10_000,
  ]);
});

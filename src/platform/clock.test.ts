import { expect, test, vi } from "vitest";
import { FakeClock } from "../../test/harness/fake-clock.ts";
import { systemClock, wait } from "./clock.ts";

const never = new AbortController().signal;

test("a timer longer than Node's longest runs neither at once nor early", () => {
  vi.useFakeTimers();
  try {
    const run = vi.fn();
    systemClock.after(2 ** 31 + 1000, run, never);
    vi.advanceTimersByTime(2 ** 31 + 999);
    expect(run).toHaveBeenCalledTimes(0);
    vi.advanceTimersByTime(1);
    expect(run).toHaveBeenCalledTimes(1);
  } finally {
    vi.useRealTimers();
  }
});

test("aborting calls a timer off, before and after it was set", () => {
  vi.useFakeTimers();
  try {
    const run = vi.fn();
    const abort = new AbortController();
    systemClock.after(10, run, abort.signal);
    abort.abort();
    systemClock.after(10, run, abort.signal);
    vi.advanceTimersByTime(100);
    expect([run.mock.calls.length, vi.getTimerCount()]).toEqual([0, 0]);
  } finally {
    vi.useRealTimers();
  }
});

test("the clock tells the time", () => {
  const before = Date.now();
  const now = systemClock.now();
  expect(now >= before && now <= Date.now()).toBe(true);
});

test("a wait ends when its time has come or its signal aborts, and leaves no timer", async () => {
  const clock = new FakeClock();
  const over = wait(clock, 100);
  clock.advance(100);
  await over;
  const abort = new AbortController();
  const broken = wait(clock, 100, abort.signal);
  abort.abort();
  await Promise.all([broken, wait(clock, 100, abort.signal)]);
  expect(clock.pending).toBe(0);
});

test("the fake clock runs timers in order, those set meanwhile included", () => {
  const clock = new FakeClock(0);
  const ran: [string, number][] = [];
  const note = (name: string) => () => ran.push([name, clock.now()]);
  const abort = new AbortController();
  clock.after(20, note("late"), never);
  clock.after(10, note("first"), never);
  clock.after(10, note("second"), never);
  clock.after(15, note("called off"), abort.signal);
  clock.after(
    5,
    () => {
      abort.abort();
      clock.after(7, note("inner"), never);
    },
    never,
  );
  clock.advance(19);
  expect([ran, clock.now(), clock.pending]).toEqual([
    [
      ["first", 10],
      ["second", 10],
      ["inner", 12],
    ],
    19,
    1,
  ]);
});

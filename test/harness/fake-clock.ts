import type { Clock } from "../../src/platform/clock.ts";

type Timer = { dueAt: number; run: () => void; signal: AbortSignal };

/** A clock that stands still until a test moves it. */
export class FakeClock implements Clock {
  #nowAt: number;
  #timers: Timer[] = [];

  constructor(startAt = Date.UTC(2026, 0, 1)) {
    this.#nowAt = startAt;
  }

  now(): number {
    return this.#nowAt;
  }

  after(ms: number, run: () => void, signal: AbortSignal): void {
    if (!signal.aborted) this.#timers.push({ dueAt: this.#nowAt + Math.max(ms, 0), run, signal });
  }

  /** Timers that wait and were not called off. */
  get pending(): number {
    return this.#timers.filter((timer) => !timer.signal.aborted).length;
  }

  /** Moves the time on and runs, in order, each timer that falls due, those set meanwhile included. */
  advance(ms: number): void {
    const untilAt = this.#nowAt + ms;
    for (let timer = this.#take(untilAt); timer; timer = this.#take(untilAt)) {
      this.#nowAt = Math.max(timer.dueAt, this.#nowAt);
      timer.run();
    }
    this.#nowAt = untilAt;
  }

  #take(untilAt: number): Timer | undefined {
    this.#timers = this.#timers.filter((timer) => !timer.signal.aborted);
    const next = this.#timers.reduce<Timer | undefined>(
      (first, timer) => (first && first.dueAt <= timer.dueAt ? first : timer),
      undefined,
    );
    if (!next || next.dueAt > untilAt) return undefined;
    this.#timers.splice(this.#timers.indexOf(next), 1);
    return next;
  }
}

/** The time, and the one way to do something later. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
  /** Runs `run` once after `ms` milliseconds, unless `signal` aborts first. */
  after(ms: number, run: () => void, signal: AbortSignal): void;
}

/** Node runs a timer at once when its delay is longer than this. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run, signal) {
    if (signal.aborted) return;
    const step = Math.min(ms, LONGEST_TIMER_MS);
    const cancel = () => clearTimeout(timer);
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", cancel);
      if (ms > step) systemClock.after(ms - step, run, signal);
      else run();
    }, step);
    signal.addEventListener("abort", cancel, { once: true });
  },
};

/** Waits `ms` milliseconds, or less when `signal` aborts; never rejects. */
export function wait(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const over = new AbortController();
    const finish = () => {
      over.abort();
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    signal?.addEventListener("abort", finish);
    clock.after(ms, finish, over.signal);
  });
}

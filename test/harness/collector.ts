import type { Report } from "../../src/core/protocol/report.ts";
import type { Feed } from "../../src/daemon/feed.ts";
import { systemClock } from "../../src/platform/clock.ts";

/** Longer than anything here takes on a busy machine; a test that reaches it has failed. */
const PATIENCE_MS = 15_000;

/** Runs a feed and lets a test wait for what it reports. */
export class Collector {
  readonly reports: Report[] = [];
  problem: string | undefined;
  #waiting: (() => void)[] = [];
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;
  readonly ready: Promise<void>;

  constructor(feed: Feed) {
    let isReady = () => {};
    this.ready = new Promise((resolve) => {
      isReady = resolve;
    });
    this.#done = feed.run({
      report: (report) => this.#note(() => this.reports.push(report)),
      health: (problem) =>
        this.#note(() => {
          this.problem = problem;
        }),
      ready: () => isReady(),
      clock: systemClock,
      signal: this.#stop.signal,
    });
  }

  /** Resolves with what `check` finds, now or after a later report. */
  async until<T>(what: string, check: (reports: Report[]) => T | undefined | false): Promise<T> {
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      const found = check(this.reports);
      if (found !== undefined && found !== false) return found;
      const left = deadline - Date.now();
      if (left <= 0) throw new Error(`No ${what} in ${JSON.stringify(this.reports.slice(-5))}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  #note(change: () => void): void {
    change();
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

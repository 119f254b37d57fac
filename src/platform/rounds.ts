import { type Clock, wait } from "./clock.ts";

/** Bursts of file events are taken together for this long, so that one write is one look. */
const GATHER_MS = 20;

export type RoundsOptions = {
  clock: Clock;
  /** How long after a poke others are gathered into the same round. */
  gatherMs?: number;
};

/**
 * Runs `round` again and again: at once, at the latest `everyMs` after the last one, and soon after
 * each `poke`. Never two at a time. Ends when `signal` aborts.
 */
export class Rounds {
  readonly #clock: Clock;
  readonly #gatherMs: number;
  #poked = false;
  #wake: AbortController | undefined;

  constructor({ clock, gatherMs = GATHER_MS }: RoundsOptions) {
    this.#clock = clock;
    this.#gatherMs = gatherMs;
  }

  /** Asks for a round soon. */
  poke(): void {
    this.#poked = true;
    this.#wake?.abort();
  }

  async run(everyMs: number, round: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const stop = () => this.#wake?.abort();
    signal.addEventListener("abort", stop);
    while (!signal.aborted) {
      this.#poked = false;
      await round();
      this.#wake = new AbortController();
      if (this.#poked || signal.aborted) this.#wake.abort();
      await wait(this.#clock, everyMs, this.#wake.signal);
      await wait(this.#clock, this.#poked ? this.#gatherMs : 0, signal);
    }
    signal.removeEventListener("abort", stop);
  }
}

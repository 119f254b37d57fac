import type { Clock } from "../../platform/clock.ts";
import type { PidCheck, ProcessTable } from "../../platform/process-table.ts";
import { Rounds } from "../../platform/rounds.ts";

/** A death shows within two seconds of it; a look costs some microseconds a pid. */
const LOOK_EVERY_MS = 1000;

export type PidLivenessOptions = {
  table: ProcessTable;
  /** The pids that matter now. */
  pids: () => readonly number[];
  /** Takes in one look; pids that could not be checked are not in it. */
  onLook: (checks: ReadonlyMap<number, PidCheck>) => void;
  clock: Clock;
  signal: AbortSignal;
};

/** Looks at the processes behind the sessions, until the signal aborts. */
export class PidLiveness {
  readonly #rounds: Rounds;
  readonly #options: PidLivenessOptions;
  readonly #seen = new Set<number>();

  constructor(options: PidLivenessOptions) {
    this.#options = options;
    this.#rounds = new Rounds({ clock: options.clock });
  }

  run(): Promise<void> {
    const { table, pids, onLook, signal } = this.#options;
    const round = async () => {
      const wanted = pids();
      this.#seen.clear();
      for (const pid of wanted) this.#seen.add(pid);
      const checks = await table.check(wanted);
      if (!signal.aborted) onLook(checks);
    };
    return this.#rounds.run(LOOK_EVERY_MS, round, signal);
  }

  /** Looks soon when one of the pids is new, so that even a short life is seen. */
  noticed(): void {
    if (this.#options.pids().some((pid) => !this.#seen.has(pid))) this.#rounds.poke();
  }
}

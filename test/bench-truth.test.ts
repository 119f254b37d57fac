import { beforeAll, expect, test } from "vitest";
import { modes, type Result, runBench, type Summary, summarise } from "../bench/truth/bench.ts";
import { readCaptures } from "../bench/truth/captures.ts";
import type { Shown, Truth } from "../bench/truth/scenario.ts";
import { type Score, score } from "../bench/truth/score.ts";

// What the table shows, against what the agents themselves say they do, over every recorded run.

let results: Result[];

beforeAll(async () => {
  results = await runBench("test/fixtures");
});

/** The most that may be wrong of the time, in parts of it; docs/accuracy.md has the table. */
const goals: Record<string, { outside: number; all: number; stuck: number }> = {
  hooks: { outside: 0.021, all: 0.054, stuck: Number.POSITIVE_INFINITY },
  exact: { outside: 0.002, all: 0.01, stuck: 0 },
  all: { outside: 0.002, all: 0.01, stuck: 0 },
};

test.each(modes)("with %s the table is as right as it has to be", (mode) => {
  const { scenarios, total_ms, ...summary }: Summary = summarise(results, mode);
  const { outside = 0, all = 0, stuck = 0 } = goals[mode] ?? {};
  // It was over all of the runs, and each of them was long enough to be wrong in.
  expect(scenarios).toBeGreaterThanOrEqual(mode === "exact" ? 55 : 65);
  expect(total_ms).toBeGreaterThan(500_000);
  expect(summary.wrong_share_outside_silent).toBeLessThanOrEqual(outside);
  expect(summary.wrong_share).toBeLessThanOrEqual(all);
  expect(summary.stuck_outside_silent).toBeLessThanOrEqual(stuck);
});

test.each(["absent", "idle", "working"] as const)(
  "a table that always showed `%s` would be wrong by far",
  async (shown) => {
    const scores = (await readCaptures("test/fixtures")).flatMap(({ truth, endAt }) =>
      [...truth.values()].map((truths) => {
        const isRight = (state: Shown, { right }: Truth) => right.includes(state);
        return score(truths, [{ at: 0, shown }], [], endAt, isRight);
      }),
    );
    const sum = (of: (one: Score) => number) => scores.reduce((all, one) => all + of(one), 0);
    expect(sum((one) => one.wrongMs) / sum((one) => one.totalMs)).toBeGreaterThan(0.1);
  },
);

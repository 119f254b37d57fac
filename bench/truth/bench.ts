import { readCaptures } from "./captures.ts";
import { replay } from "./replay.ts";
import type { Scenario, Shown, Source, Step, Truth } from "./scenario.ts";
import { type Score, STUCK_MS, score } from "./score.ts";

export const modes = ["hooks", "exact", "all"] as const;
export type Mode = (typeof modes)[number];

const sources: Record<Mode, readonly Source[]> = {
  hooks: ["hook", "growth", "lock"],
  exact: ["record", "server", "stream", "extension"],
  all: ["hook", "growth", "lock", "record", "server", "stream", "extension"],
};

export type Summary = {
  scenarios: number;
  wrong_ms: number;
  total_ms: number;
  wrong_share: number;
  /** The same without the spans about which the mode's sources tell nothing. */
  wrong_share_outside_silent: number;
  worst_scenario: string | null;
  p50_latency_ms: number;
  p95_latency_ms: number;
  /** Scenarios in which a wrong state lasted over 5 s; and of these, those outside silent spans. */
  stuck: number;
  stuck_outside_silent: number;
};

/** Of one scenario in one mode: its sessions' scores together. */
export type Result = { name: string; mode: Mode; scores: Score[] };

/** Replays every scenario of a folder in every mode. */
export async function runBench(folder: string): Promise<Result[]> {
  const scenarios = await readCaptures(folder);
  return scenarios.flatMap((scenario) =>
    modes.flatMap((mode) => {
      const result = runOne(scenario, mode);
      return result ? [result] : [];
    }),
  );
}

function runOne(scenario: Scenario, mode: Mode): Result | undefined {
  const allowed = new Set(sources[mode]);
  // A mode that has nothing of an agent to go by says nothing of it: pi has no hooks.
  if (!scenario.steps.some(({ source }) => allowed.has(source))) return undefined;
  const frames = replay(scenario, allowed);
  const scores = [...scenario.truth].map(([session, truths]) => {
    const steps = scenario.steps.filter(
      (step) => step.session === session && allowed.has(step.source),
    );
    const isRight = (shown: Shown, truth: Truth, at: number) =>
      truth.right.includes(shown) || (mode === "hooks" && isForgiven(shown, truth, at, steps));
    return score(truths, frames.get(session) ?? [], steps, scenario.endAt, isRight);
  });
  return { name: scenario.name, mode, scores };
}

/** What hooks alone cannot tell apart, and the contract settles. */
function isForgiven(shown: Shown, truth: Truth, at: number, steps: readonly Step[]): boolean {
  if (!truth.right.includes("idle")) return false;
  const before = steps.filter((step) => step.at <= at);
  if (shown === "waiting_for_input") return before.some((step) => step.isIdleNotice);
  const spoken = before.findLast((step) => step.isPrompt || step.isStart);
  return shown === "starting" && !spoken?.isPrompt;
}

/** The figures of one mode over all scenarios. */
export function summarise(results: readonly Result[], mode: Mode): Summary {
  const own = results.filter((result) => result.mode === mode);
  const all = own.flatMap(({ scores }) => scores);
  const wrongMs = sum(all.map((one) => one.wrongMs));
  const silentMs = sum(all.map((one) => one.silentWrongMs));
  const totalMs = sum(all.map((one) => one.totalMs));
  const worst = own
    .map(({ name, scores }) => ({ name, ms: sum(scores.map((one) => one.wrongMs)) }))
    .sort((a, b) => b.ms - a.ms)[0];
  const latencies = all.flatMap((one) => one.latencies).sort((a, b) => a - b);
  const stuck = (longest: (one: Score) => number) =>
    own.filter(({ scores }) => scores.some((one) => longest(one) > STUCK_MS)).length;
  return {
    scenarios: own.length,
    wrong_ms: wrongMs,
    total_ms: totalMs,
    wrong_share: share(wrongMs, totalMs),
    wrong_share_outside_silent: share(wrongMs - silentMs, totalMs),
    worst_scenario: worst && worst.ms > 0 ? worst.name : null,
    p50_latency_ms: quantile(latencies, 0.5),
    p95_latency_ms: quantile(latencies, 0.95),
    stuck: stuck((one) => one.longestWrongMs),
    stuck_outside_silent: stuck((one) => one.longestWrongOutsideMs),
  };
}

const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);
const share = (part: number, whole: number) =>
  whole === 0 ? 0 : Math.round((part / whole) * 1e6) / 1e6;
const quantile = (sorted: readonly number[], q: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0;

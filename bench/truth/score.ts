import type { Shown, Step, Truth } from "./scenario.ts";

/** Shorter differences are delay, not error. */
export const LATENCY_MS = 150;

/** A wrong state that lasts longer than this is one that a person would act upon. */
export const STUCK_MS = 5000;

/** What is over is looked at for so long: as an ended row is listed. */
const OVER_COUNTS_MS = 10_000;

/** A change of the truth is silent when a mode's sources tell nothing from so long before … */
const SILENT_BEFORE_MS = 350;
/** … to so long after it. */
const SILENT_AFTER_MS = 700;

/** What was shown of a session from a time on. */
export type Frame = { at: number; shown: Shown };

export type Score = {
  totalMs: number;
  wrongMs: number;
  /** The part of it in spans about which the mode's sources tell nothing. */
  silentWrongMs: number;
  latencies: number[];
  longestWrongMs: number;
  longestWrongOutsideMs: number;
  /** What was wrong, for people. */
  faults: { at: number; ms: number; truth: string; shown: Shown; isSilent: boolean }[];
};

/** Compares what was shown of one session with what was true of it. */
export function score(
  truths: readonly Truth[],
  frames: readonly Frame[],
  steps: readonly Step[],
  endAt: number,
  isRight: (shown: Shown, truth: Truth, at: number) => boolean,
): Score {
  const result: Score = {
    totalMs: 0,
    wrongMs: 0,
    silentWrongMs: 0,
    latencies: [],
    longestWrongMs: 0,
    longestWrongOutsideMs: 0,
    faults: [],
  };
  let wrongFrom: number | undefined;
  /** The same, not counting what began in a silent span. */
  let wrongOutsideFrom: number | undefined;
  for (const [i, truth] of truths.entries()) {
    // How long a recording went on after an end says nothing: the row's last seconds do.
    const isOver = truth.right.includes("absent");
    const lastsUntil = isOver ? Math.min(endAt, truth.at + OVER_COUNTS_MS) : endAt;
    const until = Math.min(truths[i + 1]?.at ?? lastsUntil, lastsUntil);
    if (until <= truth.at) continue;
    result.totalMs += until - truth.at;
    const isSilent = !steps.some(
      ({ at }) => at >= truth.at - SILENT_BEFORE_MS && at <= truth.at + SILENT_AFTER_MS,
    );
    let latency = 0;
    for (const part of parts(frames, truth.at, until)) {
      if (isRight(part.shown, truth, part.from)) {
        wrongFrom = undefined;
        wrongOutsideFrom = undefined;
        continue;
      }
      const ms = part.until - part.from;
      if (part.from === truth.at) latency = ms;
      wrongFrom ??= part.from;
      if (isSilent) wrongOutsideFrom = undefined;
      else wrongOutsideFrom ??= part.from;
      if (ms < LATENCY_MS) continue;
      result.wrongMs += ms;
      if (isSilent) result.silentWrongMs += ms;
      const lasted = (from: number | undefined) => (from === undefined ? 0 : part.until - from);
      result.longestWrongMs = Math.max(result.longestWrongMs, lasted(wrongFrom));
      result.longestWrongOutsideMs = Math.max(
        result.longestWrongOutsideMs,
        lasted(wrongOutsideFrom),
      );
      result.faults.push({ at: part.from, ms, truth: truth.word, shown: part.shown, isSilent });
    }
    if (i > 0) result.latencies.push(latency);
  }
  return result;
}

/** The frames between two times, each with its own. */
function* parts(
  frames: readonly Frame[],
  from: number,
  until: number,
): Generator<{ from: number; until: number; shown: Shown }> {
  let shown: Shown = "absent";
  let at = from;
  for (const frame of frames) {
    if (frame.at > from && frame.at < until) {
      if (frame.shown === shown) continue;
      if (frame.at > at) yield { from: at, until: frame.at, shown };
      at = frame.at;
    }
    if (frame.at < until) shown = frame.shown;
  }
  if (until > at) yield { from: at, until, shown };
}

import type { Report } from "../core/protocol/report.ts";
import type { Clock } from "../platform/clock.ts";

/** What a feed is given: where to report to, and when to stop. */
export type FeedPort = {
  readonly report: (report: Report) => void;
  /** Says whether the feed sees what it should: a problem in words, or nothing. */
  readonly health: (problem: string | undefined) => void;
  /** The first look around is done: what was there at the start is reported. */
  readonly ready: () => void;
  readonly clock: Clock;
  readonly signal: AbortSignal;
};

/** A source of reports. It runs until the signal aborts; missing input is not a failure. */
export type Feed = { readonly name: string; readonly run: (port: FeedPort) => Promise<void> };

import type { EpochMs } from "../protocol/time.ts";

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;

/** Writes how long ago a time was: `3s`, `12m`, `2h 05m`, `3d`. A time still to come is `0s`. */
export function ageOf(since: EpochMs, now: EpochMs): string {
  const seconds = Math.max(0, Math.floor((now - since) / 1000));
  if (seconds < MINUTE_S) return `${seconds}s`;
  if (seconds < HOUR_S) return `${Math.floor(seconds / MINUTE_S)}m`;
  if (seconds >= DAY_S) return `${Math.floor(seconds / DAY_S)}d`;
  const minutes = Math.floor((seconds % HOUR_S) / MINUTE_S);
  return `${Math.floor(seconds / HOUR_S)}h ${String(minutes).padStart(2, "0")}m`;
}

import { setTimeout as pause } from "node:timers/promises";

const POLL_MS = 50;

/** Generous: CI has two cores, and a cold start of an agent reads 400 MB from the disk. */
export const DEADLINE_MS = 30_000;

export interface WaitOptions {
  timeoutMs?: number;
  pollMs?: number;
  /** Called once when the time is up; its text ends the error message. */
  lastSeen?: () => string | Promise<string>;
}

/**
 * Calls `check` until it gives something other than `undefined`, and returns that.
 *
 * @param what  What is awaited, for the error message.
 * @throws Error when the time is up.
 */
export async function waitFor<T>(
  what: string,
  check: () => T | undefined | Promise<T | undefined>,
  { timeoutMs = DEADLINE_MS, pollMs = POLL_MS, lastSeen }: WaitOptions = {},
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const found = await check();
    if (found !== undefined) return found;
    if (performance.now() > deadline) break;
    await pause(pollMs);
  }
  const seen = lastSeen ? `\nLast seen:\n${await lastSeen()}` : "";
  throw new Error(`Waited ${timeoutMs} ms in vain for ${what}.${seen}`);
}

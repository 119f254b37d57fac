import { ENDED_LINGER_MS, MAX_SESSIONS, RECENT_FILE_MS } from "../protocol/limits.ts";
import type { EpochMs } from "../protocol/time.ts";

/** More than can end within the time that an end is remembered, with everybody's sessions held. */
const MAX_ENDS = 2 * MAX_SESSIONS;

/** When sessions that are no longer listed ended, so that a last write to a file revives nothing. */
export class Ends {
  readonly #ends = new Map<string, EpochMs>();

  remember(id: string, endedAt: EpochMs): void {
    const oldest = this.#ends.size >= MAX_ENDS ? this.#ends.keys().next().value : undefined;
    if (oldest !== undefined) this.#ends.delete(oldest);
    const latest = Math.max(endedAt, this.#ends.get(id) ?? endedAt);
    this.#ends.delete(id);
    this.#ends.set(id, latest);
  }

  /** Whether the session is known to be over, as far as evidence from `at` tells. */
  isOver(id: string, at: EpochMs, isHint: boolean): boolean {
    const endedAt = this.#ends.get(id);
    if (endedAt === undefined) return false;
    return isHint ? at <= endedAt + ENDED_LINGER_MS : at < endedAt;
  }

  /** Forgets ends so old that no file written around then is looked at any more. */
  expire(now: EpochMs): void {
    const oldest = now - RECENT_FILE_MS - ENDED_LINGER_MS;
    for (const [id, at] of this.#ends) if (at < oldest) this.#ends.delete(id);
  }

  rewind(now: EpochMs): void {
    for (const [id, at] of this.#ends) this.#ends.set(id, Math.min(at, now));
  }
}

import { MAX_LINE_BYTES } from "../../core/protocol/limits.ts";
import type { Entry, Snapshot } from "../../core/protocol/session.ts";

/** Room for what the reply wraps around the snapshot. */
const WRAPPING_BYTES = 64;

/**
 * Makes the snapshot of these sessions, small enough for one line of the wire.
 *
 * Ordinary sessions are far below it. When hundreds name paths of thousands of bytes, transcript
 * paths are left out first, then the longest-silent sessions: a reader sees the others.
 */
export function snapshotOf(sessions: Entry[]): Snapshot {
  if (fits(sessions)) return { sessions };
  const lean = sessions.map(({ transcript_path, ...entry }) => entry);
  const bySilence = [...lean].sort((a, b) => (a.last_seen < b.last_seen ? -1 : 1));
  const dropped = new Set<Entry>();
  for (let rest = lean; !fits(rest); rest = lean.filter((entry) => !dropped.has(entry))) {
    for (const entry of bySilence.splice(0, Math.ceil(rest.length / 16))) dropped.add(entry);
  }
  return { sessions: lean.filter((entry) => !dropped.has(entry)) };
}

const fits = (sessions: Entry[]) =>
  Buffer.byteLength(JSON.stringify({ sessions })) + WRAPPING_BYTES <= MAX_LINE_BYTES;

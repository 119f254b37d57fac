import type { ProcessRecord } from "../../src/core/protocol/report.ts";
import type { Entry, Sighting } from "../../src/core/protocol/session.ts";

export const S1 = "11111111-1111-4111-8111-111111111111";
export const S2 = "22222222-2222-4222-8222-222222222222";
export const P1 = 4001;
export const P2 = 4002;

/** A sighting of S1; name only what a test is about. */
export function aSighting(fields: Partial<Sighting> = {}): Sighting {
  return { session_id: S1, event: "session_start", ...fields };
}

/** The record of P1, a terminal session S1 that has rested since time 0. */
export function aRecord(fields: Partial<ProcessRecord> = {}): ProcessRecord {
  return {
    agent: "claude",
    pid: P1,
    startToken: "900",
    sessionId: S1,
    word: fields.state === "working" ? "busy" : "idle",
    state: "idle",
    statusAt: 0,
    startedAt: 0,
    headless: false,
    interactive: true,
    ...fields,
  };
}

/** `{id: state}` of what is listed, the ids cut to their first character. */
export function statesOf(entries: Entry[]): Record<string, string> {
  return Object.fromEntries(entries.map((entry) => [`S${entry.session_id[0]}`, entry.state]));
}

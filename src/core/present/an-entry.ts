import type { Entry } from "../protocol/session.ts";

/** A session for tests, idle since the epoch unless said otherwise. */
export function anEntry(fields: Partial<Entry> = {}): Entry {
  return {
    session_id: "11111111-1111-4111-8111-111111111111",
    agent: "claude",
    state: "idle",
    source: { kind: "terminal" },
    last_event: "stop",
    started_at: "1970-01-01T00:00:00.000Z",
    last_seen: "1970-01-01T00:00:00.000Z",
    state_since: "1970-01-01T00:00:00.000Z",
    ...fields,
  };
}

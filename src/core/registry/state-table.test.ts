import { expect, test } from "vitest";
import { aSighting } from "../../../test/harness/sightings.ts";
import type { SessionEvent, SessionState } from "../protocol/session.ts";
import { Sessions } from "./sessions.ts";

const starts: Record<SessionState, SessionEvent[]> = {
  starting: ["session_start"],
  working: ["user_prompt_submit"],
  idle: ["user_prompt_submit", "stop"],
  waiting_for_input: ["user_prompt_submit", { notification: "agent_needs_input" }],
  waiting_for_permission: ["user_prompt_submit", { notification: "permission_prompt" }],
  ended: ["user_prompt_submit", "stop"],
};

const same = "the same";
type Outcome = SessionState | typeof same;

const table: [SessionEvent, Outcome, Partial<Record<SessionState, Outcome>>?][] = [
  ["session_start", "starting"],
  ["user_prompt_submit", "working"],
  ["pre_tool_use", "working"],
  ["post_tool_use", "working"],
  ["stop", "idle"],
  [{ notification: "permission_prompt" }, "waiting_for_permission"],
  [{ notification: "idle_prompt" }, "waiting_for_input"],
  [{ notification: "agent_needs_input" }, "waiting_for_input"],
  [{ notification: "other" }, same],
  ["transcript_discovered", same],
  // Growth is work only where the newest event is over 10 s old; see the tests of growth.
  ["transcript_grew", same, { idle: "working" }],
  [{ stream_state: "starting" }, "starting"],
  [{ stream_state: "working" }, "working"],
  [{ stream_state: "idle" }, "idle"],
  [{ stream_state: "waiting_for_input" }, "waiting_for_input"],
  [{ stream_state: "waiting_for_permission" }, "waiting_for_permission"],
  [{ stream_state: "ended" }, "ended"],
];

for (const [event, outcome, exceptions] of table) {
  for (const [from, events] of Object.entries(starts) as [SessionState, SessionEvent[]][]) {
    const wanted = exceptions?.[from] ?? outcome;
    const name = typeof event === "string" ? event : Object.entries(event).flat().join(" ");
    test(`${name} while ${from}: ${wanted}`, () => {
      const sessions = new Sessions();
      events.forEach((step, i) => void sessions.observe(aSighting({ event: step }), i));
      if (from === "ended") sessions.end({ session_id: aSighting().session_id }, 5);
      expect(sessions.list(5)[0]?.state).toBe(from);

      const now = from === "ended" ? 100 : 11_000;
      sessions.observe(aSighting({ event }), now);

      expect(sessions.list(now)[0]?.state).toBe(wanted === same ? from : wanted);
    });
  }
}

const firsts: [SessionEvent, SessionState][] = [
  ["session_start", "starting"],
  ["user_prompt_submit", "working"],
  ["stop", "idle"],
  [{ notification: "permission_prompt" }, "waiting_for_permission"],
  [{ notification: "other" }, "idle"],
  ["transcript_discovered", "idle"],
  ["transcript_grew", "working"],
  [{ stream_state: "waiting_for_input" }, "waiting_for_input"],
];

for (const [event, state] of firsts) {
  test(`${JSON.stringify(event)} as the first sight of a session: ${state}`, () => {
    const sessions = new Sessions();
    sessions.observe(aSighting({ event }), 1000);
    expect(sessions.list(1000)[0]?.state).toBe(state);
  });
}

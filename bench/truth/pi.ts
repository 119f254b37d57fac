import type { Sighting } from "../../src/core/protocol/session.ts";
import { parseTime } from "../../src/core/protocol/time.ts";
import type { Captures } from "./captures.ts";
import { goneIn } from "./claude.ts";
import { truthOf } from "./codex.ts";
import { runExtension } from "./pi-extension.ts";
import { addTruth, over, type Scenario, type Step } from "./scenario.ts";

/** Reads a run of pi: its events go through the real extension; its program status is the truth. */
export async function piScenario(captures: Captures, name: string): Promise<Scenario | undefined> {
  const events = captures.lines("events", name);
  const states = captures.lines("osc", name).filter(({ osc }) => osc === 7501);
  if (events.length === 0 || states.length === 0) return undefined;
  const told = await runExtension(events);
  const steps = told.map(({ at, op, payload }): Step => {
    const apply: Step["apply"] = (sessions) => {
      const seenAt = parseTime(String(payload.at)) ?? at;
      if (op === "end") sessions.end(payload as { session_id: string }, at, seenAt);
      else sessions.observe(payload as Sighting, at, seenAt);
    };
    return { at, source: "extension", session: String(payload.session_id), apply };
  });
  const truth: Scenario["truth"] = new Map();
  let before: string | undefined;
  for (const { ts: at, text } of states) {
    // The session of the terminal is the one that its pi was in last.
    const session = steps.findLast((step) => step.at <= at + 100)?.session ?? steps[0]?.session;
    if (session === undefined) continue;
    if (before !== undefined && before !== session)
      addTruth(truth, before, { at, word: "left", right: over });
    addTruth(truth, session, { at, ...truthOf(String(text)) });
    before = session;
  }
  const timeline = captures.lines("timeline", name);
  const endAt = Math.max(...timeline.map(({ ts }) => ts), ...steps.map(({ at }) => at));
  const goneAt = goneIn(timeline);
  return { name: `pi/${name}`, agent: "pi", steps, truth, goneAt, tokens: new Map(), endAt };
}

import { Sessions } from "../../src/core/registry/sessions.ts";
import type { Scenario, Shown, Source } from "./scenario.ts";
import type { Frame } from "./score.ts";

/** The daemon looks at the process table as often. */
const LOOK_MS = 1000;

/** Plays what was seen in one run to the engine, and notes what it shows of each session. */
export function replay(scenario: Scenario, sources: ReadonlySet<Source>): Map<string, Frame[]> {
  const sessions = new Sessions();
  const frames = new Map<string, Frame[]>();
  const steps = scenario.steps.filter(({ source }) => sources.has(source));
  let now = steps[0]?.at ?? scenario.endAt;
  let lookAt = now;

  const note = () => {
    const shown = new Map<string, Shown>(sessions.list(now).map((it) => [it.session_id, it.state]));
    for (const id of new Set([...frames.keys(), ...shown.keys()])) {
      const held = frames.get(id) ?? [];
      const state = shown.get(id) ?? "absent";
      if (held.at(-1)?.shown !== state) held.push({ at: now, shown: state });
      frames.set(id, held);
    }
  };
  const look = () => {
    const checks = sessions.pids().map((pid) => {
      const isGone = (scenario.goneAt.get(pid) ?? Number.POSITIVE_INFINITY) <= now;
      return [pid, isGone ? "gone" : (scenario.tokens.get(pid) ?? "1")] as const;
    });
    sessions.look(new Map(checks), now);
    lookAt = now + LOOK_MS;
    note();
  };
  /** Lets time pass as the daemon does: at each deadline of the engine, and each look. */
  const passUntil = (at: number) => {
    for (;;) {
      const next = Math.min(lookAt, sessions.nextDeadline() ?? Number.POSITIVE_INFINITY);
      if (next >= at) break;
      now = next;
      if (next === lookAt) look();
      else sessions.advance(now);
      note();
    }
    now = at;
  };

  for (const step of steps) {
    passUntil(step.at);
    const known = new Set(sessions.pids());
    step.apply(sessions);
    note();
    if (sessions.pids().some((pid) => !known.has(pid))) look(); // a new pid is looked at soon
  }
  passUntil(scenario.endAt);
  return frames;
}

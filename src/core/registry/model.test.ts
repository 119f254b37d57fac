import fc from "fast-check";
import { expect, test } from "vitest";
import { type Logged, listed, type Told } from "../../../test/harness/model.ts";
import { MAX_SESSIONS, MAX_WINDOWS, SESSION_TTL_MS } from "../protocol/limits.ts";
import type { ProcessRecord } from "../protocol/report.ts";
import * as wire from "../protocol/session.ts";
import { visiblePart } from "./entry.ts";
import { Sessions } from "./sessions.ts";

// The same stories every time, so that a failure is of the change at hand. New ones, with the seed of
// one that fails: MODEL_RUNS=5000 npx vitest run src/core/registry/model.test.ts --testTimeout 0
const { MODEL_RUNS } = process.env;
const runs = MODEL_RUNS ? { numRuns: Number(MODEL_RUNS) } : { numRuns: 300, seed: 20_261_129 };
const START = Date.UTC(2026, 0, 1);

/** What is told after a wait. Its times are set when it is told: `lagMs` before that. */
type Draft = { waitMs: number; lagMs: number; told: Told };

// Both sides of every limit, and what lies between.
const WAITS = [0, 0, 1, 1000, 5000, 9_999, 10_000, 10_001, 15_000, 20_000, 29_999, 30_000];
const LONG_WAITS = [45_000, 60_000, 75_000, 120_000, 299_999, 300_000];
const LAGS = [0, 0, 0, 0, 0, 0, 0, 1, 1000, 5000, 10_000, 10_001, 15_000, 30_000, 60_000];
const ODD_LAGS = [299_999, 300_000, 300_001, -1000];

const events: wire.SessionEvent[] = [
  ...wire.eventNames,
  ...wire.notifications.map((notification) => ({ notification })),
  ...wire.states.map((stream_state) => ({ stream_state })),
];
const words: Pick<ProcessRecord, "word" | "state" | "background">[] = [
  { word: "idle", state: "idle" },
  { word: "busy", state: "working" },
  { word: "waiting", state: "waiting_for_permission" },
  { word: "waiting", state: "waiting_for_input" },
  { word: "shell", state: "idle", background: 1 },
  { word: "unheard-of" },
];

const from = fc.constantFrom;
const maybe = <T>(...values: T[]) => fc.option(from(...values), { nil: undefined });
const given = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;

/** Stories of few sessions in few processes. */
function stories(ids = ["s1", "s2", "s3"], pids = [1, 2, 3]) {
  const session_id = from(...ids);
  const pid = from(...pids);
  const cwd = maybe("/w/a", "/w/a/b", "/w/ab");
  const sighting = fc.record({
    ...{ session_id, cwd, event: from(...events), pid: maybe(...pids) },
    ...{ agent: maybe("claude", "codex"), repo: maybe("r1", "r2"), model: maybe("m1", "m2") },
    transcript_path: maybe("/t/1", "/t/2"),
  });
  const record = fc
    .record({
      ...{ agent: from("claude"), pid, startToken: from("900"), sessionId: session_id },
      ...{ statusAt: from(0), startedAt: from(START - 3_600_000), headless: from(false) },
      ...{ interactive: fc.boolean(), cwd, name: maybe("n1", "n2"), transcriptPath: maybe("/t/3") },
    })
    .chain((fields) =>
      from(...words.map((word) => given({ ...fields, ...word }) as ProcessRecord)),
    );
  const report = fc.record({
    ...{ key: from("w1", "w2"), tabs: from(0, 1), terminals: from(0, 2) },
    folders: fc.subarray(["/", "/w/a", "/w/a/b/", "/x"]),
  });
  const check = fc.tuple(pid, from("900", "900", "900", "2500", "gone", "gone"));
  const a = <O, F>(weight: number, op: O, fields: { [K in keyof F]: fc.Arbitrary<F[K]> }) => ({
    weight,
    arbitrary: fc.record({ op: from(op), ...fields }) as unknown as fc.Arbitrary<Told>,
  });
  const told = fc.oneof(
    a(10, "observe", { sighting, at: from(0) }),
    a(2, "end", { ending: fc.record({ session_id, pid: maybe(...pids) }), at: from(0) }),
    a(4, "record", { record }),
    a(1, "recordGone", { pid, how: from("removed", "lost") }),
    a(3, "look", { checks: fc.array(check, { maxLength: 3 }).map((checks) => new Map(checks)) }),
    a(1, "window", { report }),
    a(1, "windowUnregister", { key: from("w1", "w2") }),
  );
  const times = {
    waitMs: from(...WAITS, ...LONG_WAITS),
    lagMs: from(...LAGS, ...ODD_LAGS),
  };
  return fc.array(fc.record({ ...times, told }), { minLength: 1, maxLength: 40 });
}

/** The draft as the feeds would tell it: only what can happen. */
function timed({ told, lagMs }: Draft, engine: Sessions, log: Logged[], now: number): Told {
  switch (told.op) {
    case "observe": {
      const { event } = told.sighting;
      const isStream = typeof event === "object" && "stream_state" in event;
      return { ...told, at: isStream ? now : now - lagMs };
    }
    case "end":
      return { ...told, at: now - Math.min(lagMs, 60_000) };
    case "record":
      return { ...told, record: moved(told.record, lagMs, engine, log, now) };
    case "look": {
      // The daemon looks at the pids that it is asked to look at.
      const asked = engine.pids();
      return { ...told, checks: new Map([...told.checks].filter(([pid]) => asked.includes(pid))) };
    }
    default:
      return told;
  }
}

/** A record is read soon after it moved, unless it was there before the daemon; it never moves back. */
function moved(
  record: ProcessRecord,
  lagMs: number,
  engine: Sessions,
  log: Logged[],
  now: number,
): ProcessRecord {
  const isOf = (told: Logged) => told.op === "record" && told.record.pid === record.pid;
  const before = log.findLast(isOf) as { record: ProcessRecord } | undefined;
  const isKnown = engine.list(now).some((entry) => entry.session_id === record.sessionId);
  const readAt = Math.max(now - lagMs, isKnown ? now : 0, before?.record.statusAt ?? 0);
  const isSame =
    before?.record.word === record.word &&
    before.record.state === record.state &&
    before.record.sessionId === record.sessionId;
  return { ...record, statusAt: readAt === before?.record.statusAt && !isSame ? now : readAt };
}

function tell(engine: Sessions, told: Told, now: number): boolean {
  switch (told.op) {
    case "observe":
      return engine.observe(told.sighting, now, told.at);
    case "end":
      return engine.end(told.ending, now, told.at).changed;
    case "record":
      return engine.record(told.record, now);
    case "recordGone":
      return engine.recordGone(told.pid, told.how, now);
    case "look":
      return engine.look(told.checks, now);
    case "window":
      return engine.window(told.report, now);
    case "windowUnregister":
      return engine.windowUnregister(told.key, now).changed;
  }
}

type Teller = { engine: Sessions; log: Logged[]; now: number; told: Told; tell: () => boolean };

/** Plays a story as the daemon does, with one timer for the deadline. */
function play(
  story: Draft[],
  step: (teller: Teller) => void,
  advance = (engine: Sessions, at: number): unknown => engine.advance(at),
): void {
  const engine = new Sessions();
  const log: Logged[] = [];
  let now = START;
  for (const draft of story) {
    const until = now + draft.waitMs;
    for (let due = engine.nextDeadline(); due !== undefined && due <= until; ) {
      advance(engine, due);
      const next = engine.nextDeadline();
      expect(next ?? Number.POSITIVE_INFINITY).toBeGreaterThan(due);
      due = next;
    }
    now = until;
    const told = timed(draft, engine, log, now);
    const say = () => {
      log.push({ ...told, now });
      return tell(engine, told, now);
    };
    step({ engine, log, now, told, tell: say });
  }
}

/** What the model knows too: it says neither since when a state is so nor what runs beside it. */
const modelled = (entries: wire.Entry[]) =>
  entries.map(({ state_since, background, ...rest }) => rest);
const visible = (engine: Sessions, at: number) => engine.list(at).map(visiblePart).join();
const holds = (drafts: ReturnType<typeof stories>, check: (story: Draft[]) => void) =>
  fc.assert(fc.property(drafts, check), runs);

for (const [title, drafts] of [
  ["few sessions in few processes", stories()],
  [
    "one session that many processes take over",
    stories(
      ["s1"],
      [...Array(12).keys()].map((i) => i + 1),
    ),
  ],
] as const)
  test(`the list is what all that was told adds up to: ${title}`, () => {
    holds(drafts, (story) =>
      play(story, ({ engine, log, now, tell }) => {
        expect(modelled(engine.list(now))).toEqual(listed(log, now));
        tell();
        expect(modelled(engine.list(now))).toEqual(listed(log, now));
      }),
    );
  });

test("a change is told exactly when a reader can see one", () => {
  holds(stories(), (story) =>
    play(story, ({ engine, now, tell }) => {
      const before = visible(engine, now);
      expect(tell()).toBe(visible(engine, now) !== before);
    }),
  );
});

test("nothing changes by itself before the deadline, and what changes then is told", () => {
  const advance = (engine: Sessions, at: number) => {
    const before = visible(engine, at - 1);
    expect(engine.advance(at)).toBe(visible(engine, at) !== before);
  };
  const step = ({ engine, now, tell }: Teller) => {
    tell();
    const due = engine.nextDeadline() ?? now + 3_600_000;
    for (const at of [now + 1, Math.floor((now + due) / 2), due - 1])
      if (at > now && at < due) expect(visible(engine, at)).toEqual(visible(engine, now));
  };
  holds(stories(), (story) => play(story, step, advance));
});

test("reading changes nothing, whatever time is asked about", () => {
  holds(stories(), (story) => {
    const unread = new Sessions();
    const advance = (engine: Sessions, at: number) => {
      expect(engine.advance(at)).toBe(unread.advance(at));
    };
    const step = ({ engine, now, told, tell: say }: Teller) => {
      for (const at of [now, now + 400_000, now]) engine.list(at);
      engine.folders();
      expect(say()).toBe(tell(unread, told, now));
      expect(engine.list(now)).toEqual(engine.list(now));
      expect(engine.list(now)).toEqual(unread.list(now));
    };
    play(story, step, advance);
  });
});

test("a state that goes on keeps the time it began", () => {
  holds(stories(), (story) => {
    let before: wire.Entry[] = [];
    const compare = (engine: Sessions, now: number) => {
      const after = engine.list(now);
      for (const { session_id, started_at, state, state_since } of after) {
        const held = before.find((old) => old.session_id === session_id);
        const goesOn = held?.started_at === started_at && held.state === state;
        if (goesOn) expect(state_since <= held.state_since).toBe(true);
      }
      before = after;
    };
    const step = ({ engine, now, tell }: Teller) => void [tell(), compare(engine, now)];
    play(story, step, (engine, at) => void [engine.advance(at), compare(engine, at)]);
  });
});

test("no more than 512 sessions and 256 windows are held, and what is new is always among them", () => {
  const many = fc.array(fc.integer({ min: 1, max: 1500 }), { minLength: 1400, maxLength: 1500 });
  const check = (numbers: number[]) => {
    const [engine, windows] = [new Sessions(), new Sessions()];
    for (const [i, number] of numbers.entries()) {
      const [id, now] = [`s${number}`, START + i];
      engine.observe({ session_id: id, event: "stop", pid: number }, now);
      windows.window({ key: id, folders: [`/${id}`], tabs: 1, terminals: 0 }, now);
      if (i % 20 === 0) engine.look(new Map([[number, "900"]]), now);
      const known = engine.list(now).map((entry) => entry.session_id);
      const { folders } = windows.folders();
      expect(known.length <= MAX_SESSIONS && folders.size <= MAX_WINDOWS).toBe(true);
      expect(known.includes(id) && folders.has(`/${id}`)).toBe(true);
    }
  };
  fc.assert(fc.property(many, check), { ...runs, numRuns: 2 });
});

test("a clock that goes back leaves nothing in the future and no row for ever", () => {
  const jumps = fc.array(from(0, 0, 0, 1, 10_000, 75_000, 3_600_000), { minLength: 1 });
  const check = (story: Draft[], jumps: number[]) => {
    const engine = new Sessions();
    let now = START;
    for (const [i, draft] of story.entries()) {
      now += draft.waitMs - (jumps[i % jumps.length] ?? 0);
      engine.advance(now);
      tell(engine, timed(draft, engine, [], now), now);
      for (const { last_seen, started_at, state_since } of engine.list(now))
        for (const at of [last_seen, started_at, state_since])
          expect(Date.parse(at)).toBeLessThanOrEqual(now);
    }
    engine.look(new Map(engine.pids().map((pid) => [pid, "gone"])), now);
    for (const pid of [1, 2, 3]) engine.recordGone(pid, "lost", now);
    engine.look(new Map(), now + SESSION_TTL_MS);
    expect({ left: engine.list(now + SESSION_TTL_MS), due: engine.nextDeadline() }).toEqual({
      left: [],
      due: undefined,
    });
  };
  fc.assert(fc.property(stories(), jumps, check), runs);
});

import { beforeEach, expect, onTestFinished, test } from "vitest";
import { explanationLines } from "../src/cli/explanation.ts";
import type { Explanation } from "../src/core/protocol/explanation.ts";
import type { Handlers } from "../src/core/protocol/ops.ts";
import type { Report } from "../src/core/protocol/report.ts";
import type { FeedPort } from "../src/daemon/feed.ts";
import { memoryLog } from "../src/daemon/log.ts";
import { type SessionsService, startSessions } from "../src/daemon/services/sessions.ts";
import { FakeClock } from "./harness/fake-clock.ts";
import { aRecord, P1, S1 } from "./harness/sightings.ts";

const THREAD = "01a22789-6287-7681-93a4-d27099ed339c";

let clock: FakeClock;
let service: SessionsService;
let records: FeedPort;
let locks: FeedPort;

beforeEach(() => {
  clock = new FakeClock(Date.UTC(2026, 10, 29, 13, 40));
  const stopped = new AbortController();
  onTestFinished(() => stopped.abort());
  const feed = (name: string, start: (port: FeedPort) => void) => ({
    name,
    run: (port: FeedPort) => {
      start(port);
      return new Promise<void>((resolve) => port.signal.addEventListener("abort", () => resolve()));
    },
  });
  service = startSessions(
    {
      feeds: [
        feed("claude-records", (port) => {
          records = port;
        }),
        feed("codex-threads", (port) => {
          locks = port;
        }),
      ],
      table: {
        check: async (pids) => new Map(pids.map((pid) => [pid, "900"])),
        parentOf: async () => ({ parent: 1, name: "claude" }),
        argsOf: async () => ["codex"],
        cwdOf: () => undefined,
      },
    },
    { clock, log: memoryLog().log, signal: stopped.signal, resampleMs: 10_000 },
  );
});

async function hook(event: string, more: object = {}, header: object = {}): Promise<void> {
  const payload = { session_id: S1, hook_event_name: event, cwd: "/home/u/app", ...more };
  const body = Buffer.from(JSON.stringify(payload));
  await service.raw?.hook?.run({ agent: "claude", pid: P1, ...header }, body);
}

const handlers = () => service.handlers as Handlers<"sessions">;
const explanation = (session_id = S1) => handlers().explain({ session_id }) as Explanation;

const shown = (id?: string) => {
  const shorten = (path: string) => path.replace("/home/u", "~");
  return `\n${explanationLines(explanation(id), { now: clock.now(), shorten }).join("\n")}\n`;
};

test("a wait for permission, by hooks alone", async () => {
  await hook("SessionStart", { source: "startup" });
  await hook("UserPromptSubmit", { prompt: "a secret" });
  clock.advance(2000);
  await hook("PreToolUse", { tool_name: "Bash", tool_use_id: "t1", tool_input: { command: "x" } });
  await hook("PermissionRequest", { tool_name: "Bash" });
  clock.advance(12_000);
  expect(shown()).toMatchInlineSnapshot(`
    "
    claude 11111111-1111-4111-8111-111111111111
      ~/app, process 4001
      ! needs permission for 12s, as events say

    What each source says, the most trusted first:
      events  waiting_for_permission  for 12s  believed

    What keeps it listed:
      process 4001 lives, and this is the session it is in

    What was seen of it, the newest last (UTC, 2026-11-29):
      13:40:00.000  hook  SessionStart             appears: starting
      13:40:00.000  hook  UserPromptSubmit         starting -> working
      13:40:02.000  hook  PreToolUse(Bash)
      13:40:02.000  hook  PermissionRequest(Bash)  working -> waiting_for_permission
    "
  `);
  expect(JSON.stringify(explanation())).not.toMatch(/secret|command/);
});

test("a question that a record tells of, and events that are kept meanwhile", async () => {
  await hook("UserPromptSubmit");
  const at = clock.now();
  const record = aRecord({ state: "waiting_for_input", word: "waiting", statusAt: at });
  records.report({ kind: "record", record });
  clock.advance(5000);
  await hook("PostToolUse", { tool_name: "Read", tool_use_id: "t2" });
  expect(shown()).toMatchInlineSnapshot(`
    "
    claude 11111111-1111-4111-8111-111111111111
      ~/app, process 4001
      ? needs input for 5s, as record says

    What each source says, the most trusted first:
      record  waiting_for_input  for 5s  believed
      events  working            for 0s  not believed: record goes before it

    What keeps it listed:
      the process record of process 4001
      process 4001 lives, and this is the session it is in

    What was seen of it, the newest last (UTC, 2026-11-29):
      13:40:00.000  hook            UserPromptSubmit   appears: working
      13:40:00.000  claude-records  record waiting     working -> waiting_for_input
      13:40:05.000  hook            PostToolUse(Read)  kept: the record decides
    "
  `);
});

test("idle after a record that did not move has lost", async () => {
  const record = aRecord({ state: "working", word: "busy", statusAt: clock.now() });
  records.report({ kind: "record", record });
  clock.advance(5000);
  await hook("Stop");
  clock.advance(31_000);
  expect(shown()).toMatchInlineSnapshot(`
    "
    claude 11111111-1111-4111-8111-111111111111
      ~/app, process 4001
      ◦ idle for 31s, as events say

    What each source says, the most trusted first:
      record  working  for 36s  not believed: an event told otherwise, and it has not moved in the 30 s since
      events  idle     for 31s  believed

    What keeps it listed:
      the process record of process 4001
      process 4001 lives, and this is the session it is in

    What was seen of it, the newest last (UTC, 2026-11-29):
      13:40:00.000  claude-records  record busy  appears: working
      13:40:05.000  hook            Stop         kept: the record decides
      13:40:05.000  time            passed       working -> idle
    "
  `);
});

test("working, by reports that are repeated, of a thread whose lock is held", () => {
  const at = clock.now();
  const lock = { sessionId: THREAD, agent: "codex", at, isShared: true, headless: false };
  locks.report({ kind: "lock", lock: { ...lock, fields: { cwd: "/home/u/app" } } });
  for (let beat = 0; beat < 4; beat += 1) {
    const sighting = { session_id: THREAD, agent: "codex", event: { stream_state: "working" } };
    locks.report({ kind: "sighting", sighting } as Report);
    clock.advance(30_000);
  }
  expect(shown(THREAD)).toMatchInlineSnapshot(`
    "
    codex 01a22789-6287-7681-93a4-d27099ed339c
      ~/app
      ▸ working for 2m, as stream says

    What each source says, the most trusted first:
      stream  working  for 2m  believed
      events  working  for 2m  not believed: stream goes before it

    What keeps it listed:
      reports that are repeated
      a lock that is held

    What was seen of it, the newest last (UTC, 2026-11-29):
      13:40:00.000  codex-threads  lock held                appears: idle
      13:40:00.000  codex-threads  stream_state working     idle -> working
      13:41:30.000  codex-threads  stream_state working x3
    "
  `);
});

test("ended", async () => {
  await hook("SessionStart");
  clock.advance(1000);
  await hook("SessionEnd", { reason: "prompt_input_exit" });
  clock.advance(4000);
  expect(shown()).toMatchInlineSnapshot(`
    "
    claude 11111111-1111-4111-8111-111111111111
      ~/app, process 4001
      - ended for 4s, as end says

    What each source says, the most trusted first:
      end     ended     for 4s  believed
      events  starting  for 5s  not believed: end goes before it

    What keeps it listed:
      it has ended: the row goes in 6s

    What was seen of it, the newest last (UTC, 2026-11-29):
      13:40:00.000  hook  SessionStart             appears: starting
      13:40:01.000  hook  end (prompt_input_exit)  starting -> ended
    "
  `);
});

test("starting, silent for a while, and nothing that lives vouches for it", async () => {
  handlers().observe({ session_id: S1, event: "session_start" } as never);
  clock.advance(60_000);
  expect(shown()).toMatchInlineSnapshot(`
    "
    claude 11111111-1111-4111-8111-111111111111
      ◌ starting for 1m, as events say

    What each source says, the most trusted first:
      events  starting  for 1m  believed

    What keeps it listed:
      nothing that lives is known to hold it: it goes in 4m unless more is seen

    What was seen of it, the newest last (UTC, 2026-11-29):
      13:40:00.000  observe  session_start  appears: starting
    "
  `);
});

test("of the sightings the latest 32 are kept", async () => {
  for (let i = 0; i < 40; i += 1) {
    await hook(i % 2 ? "UserPromptSubmit" : "Stop");
    clock.advance(10);
  }
  expect(explanation().sightings).toHaveLength(32);
  expect(explanation().sightings.at(-1)).toMatchObject({
    source: "hook",
    event: "UserPromptSubmit",
    effect: "idle -> working",
  });
});

test("a session that is not listed has no explanation", () => {
  expect(() => explanation("unknown")).toThrow("unknown session: unknown");
});

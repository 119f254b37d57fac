import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { ClaudeStream } from "./stream.ts";

// Both directions of real runs, as they were seen; docs/agents/claude.md says how they were made.
// What the stream says after each line that changes it is in the `.expected.txt` beside it. Lines of
// the direction `record` are Claude's own process record at that time; older runs have a file of them.
const fixtures = new URL("../../../../test/fixtures/claude/", import.meta.url).pathname;

type Line = { ts: number; dir: "in" | "out" | "record"; line: Record<string, unknown> };

const linesOf = (file: string): Line[] =>
  readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

const scenarios = readdirSync(path.join(fixtures, "stream"))
  .filter((name) => name.endsWith(".ndjson"))
  .map((name) => name.replace(".ndjson", ""));

type Moment = { ts: number; state: string; id: string; model: string | undefined };

/** What the stream says from when on, with what changes by itself in between. */
function replay(lines: readonly Line[]): Moment[] {
  const stream = new ClaudeStream({
    id: undefined,
    isResumed: false,
    cwd: undefined,
    model: undefined,
  });
  const moments: Moment[] = [];
  const look = (ts: number) => {
    const { session } = stream;
    if (!session) return;
    const moment = { ts, state: stream.stateAt(ts), id: session.id, model: session.model };
    const { ts: _, ...before } = moments.at(-1) ?? {};
    const { ts: __, ...now } = moment;
    if (JSON.stringify(before) !== JSON.stringify(now)) moments.push(moment);
  };
  for (const { ts, dir, line } of lines) {
    const last = moments.at(-1)?.ts ?? ts;
    const due = stream.nextDeadline(last);
    if (due !== undefined && due < ts) look(due);
    if (dir === "in") stream.noteInput(line, ts);
    if (dir === "out") stream.noteOutput(line, ts);
    look(ts);
  }
  const end = lines.at(-1)?.ts ?? 0;
  const due = stream.nextDeadline(end);
  if (due !== undefined) look(due);
  return moments;
}

/** Claude's own word for its state, from when on. */
function truthOf(scenario: string, lines: readonly Line[]): { ts: number; state: string }[] {
  const older = path.join(fixtures, "stream-registry", `${scenario}.ndjson`);
  const records = existsSync(older)
    ? (linesOf(older) as unknown as { ts: number; content?: Record<string, unknown> }[])
        .filter(({ content }) => content)
        .map(({ ts, content = {} }) => ({ ts, ...content }))
    : lines.filter(({ dir }) => dir === "record").map(({ ts, line }) => ({ ts, ...line }));
  return records.flatMap(({ ts, ...record }) => {
    const { status, waitingFor } = record as { status?: string; waitingFor?: string };
    const waits =
      waitingFor === "permission prompt" ? "waiting_for_permission" : "waiting_for_input";
    const state = { busy: "working", idle: "idle", waiting: waits }[status ?? ""];
    return state === undefined ? [] : [{ ts, state }];
  });
}

/** Records are polled, and written a little after the line that says the same. */
const TRANSITION_MS = 150;

for (const scenario of scenarios) {
  describe(scenario, () => {
    const lines = linesOf(path.join(fixtures, "stream", `${scenario}.ndjson`));
    const moments = replay(lines);
    const start = lines[0]?.ts ?? 0;

    test("the state after each line", async () => {
      const shown = moments.map(
        ({ ts, state, id, model }) => `${ts - start} ${state} ${id.slice(0, 4)} ${model ?? "-"}`,
      );
      const expected = path.join(fixtures, "stream", `${scenario}.expected.txt`);
      await expect(`${shown.join("\n")}\n`).toMatchFileSnapshot(expected);
    });

    test("agrees with Claude's own record", () => {
      const truth = truthOf(scenario, lines);
      const differences = truth.flatMap(({ ts, state }, i) => {
        const from = Math.max(ts + TRANSITION_MS, (moments[0]?.ts ?? 0) + TRANSITION_MS);
        const to = (truth[i + 1]?.ts ?? lines.at(-1)?.ts ?? 0) - TRANSITION_MS;
        const said = moments.filter(
          (moment, j) => moment.ts < to && (moments[j + 1]?.ts ?? Number.POSITIVE_INFINITY) > from,
        );
        return from >= to
          ? []
          : said
              .filter((moment) => moment.state !== state)
              .map(
                (moment) => `${Math.max(moment.ts, from) - start} ${moment.state}, not ${state}`,
              );
      });
      expect(differences).toEqual(knownDifferences[scenario] ?? []);
    });
  });
}

const base = { id: "s1", isResumed: true, cwd: undefined, model: "old" };
const init = { type: "system", subtype: "init", session_id: "s1" };
const prompt = { type: "user", message: { role: "user", content: "hello" } };
const ask = (request_id: string, tool_name: string, more: object = {}) => ({
  type: "control_request",
  request_id,
  request: { subtype: "can_use_tool", tool_name, ...more },
});
const answer = (request_id: string) => ({ type: "control_response", response: { request_id } });
const tells = (state: string) => ({ type: "system", subtype: "session_state_changed", state });

test("a session shows when it has an id and was spoken to", () => {
  const fresh = new ClaudeStream({ ...base, isResumed: false });
  fresh.noteOutput({ type: "system", subtype: "hook_started", session_id: "s1" }, 0);
  const before = fresh.session;
  fresh.noteInput(prompt, 0);
  const nameless = new ClaudeStream({ ...base, isResumed: false, id: undefined });
  nameless.noteInput(prompt, 0);
  expect([before, fresh.session?.id, nameless.session, new ClaudeStream(base).session?.id]).toEqual(
    [undefined, "s1", undefined, "s1"],
  );
});

test("init without a prompt is idle, after one it leaves the turn alone", () => {
  const stream = new ClaudeStream({ ...base, isResumed: false });
  stream.noteOutput(init, 0);
  const first = [stream.session?.id, stream.stateAt(0)];
  stream.noteInput(prompt, 1);
  stream.noteOutput(init, 2);
  expect([...first, stream.stateAt(2)]).toEqual(["s1", "idle", "working"]);
});

test("of several questions permission comes first; a result ends them all", () => {
  const stream = new ClaudeStream(base);
  const seen = [
    () => stream.noteInput(prompt, 0),
    () => stream.noteOutput(ask("a", "AskUserQuestion"), 0),
    () => stream.noteOutput(ask("b", "Bash"), 0),
    () => stream.noteInput(answer("b"), 0),
    () => stream.noteOutput(ask("c", "Edit"), 0),
    () => stream.noteOutput({ type: "control_cancel_request", request_id: "c" }, 0),
    () => stream.noteInput(answer("unknown"), 0),
    () => stream.noteOutput({ type: "result" }, 0),
  ].map((step) => {
    step();
    return stream.stateAt(0);
  });
  expect(seen).toEqual([
    "working",
    "waiting_for_input",
    "waiting_for_permission",
    "waiting_for_input",
    "waiting_for_permission",
    "waiting_for_input",
    "waiting_for_input",
    "idle",
  ]);
});

test("what the program around Claude answers by itself is no question", () => {
  const stream = new ClaudeStream(base);
  for (const subtype of ["hook_callback", "mcp_message", "a_new_one"])
    stream.noteOutput({ type: "control_request", request_id: subtype, request: { subtype } }, 0);
  expect(stream.stateAt(0)).toBe("idle");
});

test("questions without end do not pile up", () => {
  const stream = new ClaudeStream(base);
  for (let i = 0; i < 1000; i++) stream.noteOutput(ask(`${i}`, "Bash"), 0);
  for (let i = 0; i < 64; i++) stream.noteInput(answer(`${i}`), 0);
  expect(stream.stateAt(0)).toBe("idle");
});

test("prompts that may become a turn are waited for a second, no longer", () => {
  const stream = new ClaudeStream(base);
  stream.noteInput(prompt, 0);
  stream.noteInput(prompt, 10);
  stream.noteOutput({ type: "result" }, 20);
  expect([stream.stateAt(20), stream.nextDeadline(20), stream.stateAt(1019)]).toEqual([
    "working",
    1020,
    "working",
  ]);
  expect([stream.stateAt(1020), stream.nextDeadline(1020)]).toEqual(["idle", undefined]);
  stream.noteOutput(init, 3000); // late, and it comes all the same
  expect(stream.stateAt(3000)).toBe("working");
  stream.noteOutput({ type: "result" }, 3010);
  expect(stream.stateAt(3010)).toBe("idle");
});

test("a model that is chosen shows at once, and the old one is back when Claude refuses", () => {
  const stream = new ClaudeStream(base);
  const choose = (request_id: string, model: unknown) =>
    stream.noteInput(
      { type: "control_request", request_id, request: { subtype: "set_model", model } },
      0,
    );
  const reply = (request_id: string, subtype: string) =>
    stream.noteOutput({ type: "control_response", response: { request_id, subtype } }, 0);
  const seen = [
    () => choose("1", "new"),
    () => reply("1", "success"),
    () => choose("2", "refused"),
    () => reply("2", "error"),
    () => choose("3", null),
    () => choose("4", "default"),
    () => choose("5", "x".repeat(257)),
    () => stream.noteOutput({ ...init, model: "resolved" }, 0),
  ].map((step) => {
    step();
    return stream.session?.model;
  });
  expect(seen).toEqual(["new", "new", "refused", "new", "new", "new", "new", "resolved"]);
});

test("a need for the user that is never named is one of permission", () => {
  const stream = new ClaudeStream(base);
  stream.noteOutput(tells("requires_action"), 0);
  const seen = [stream.stateAt(0), stream.nextDeadline(0), stream.stateAt(250)];
  stream.noteOutput(ask("a", "ExitPlanMode"), 300);
  expect([...seen, stream.stateAt(300)]).toEqual([
    "working",
    250,
    "waiting_for_permission",
    "waiting_for_input",
  ]);
});

test("a Claude that tells its state is believed: after a result it is waited for", () => {
  const stream = new ClaudeStream(base);
  const seen = ["running", "result", "idle", "running", "a new word", "result"].map((word) => {
    stream.noteOutput(word === "result" ? { type: "result" } : tells(word), 0);
    return stream.stateAt(0);
  });
  expect(seen).toEqual(["working", "working", "idle", "working", "working", "working"]);
  expect([stream.nextDeadline(0), stream.stateAt(1000)]).toEqual([1000, "idle"]);
});

test("an idle that comes after the next prompt tells of the turn before", () => {
  const stream = new ClaudeStream(base);
  stream.noteOutput(tells("running"), 0);
  stream.noteOutput({ type: "result" }, 0);
  stream.noteInput(prompt, 1);
  stream.noteOutput(tells("idle"), 2);
  expect(stream.stateAt(5000)).toBe("working");
  stream.noteOutput(tells("running"), 3);
  stream.noteOutput(tells("idle"), 4);
  expect(stream.stateAt(4)).toBe("idle");
});

test("content begins a turn, but not a subagent's, a copy's or the user's own", () => {
  const nothing = [
    { type: "assistant", parent_tool_use_id: "toolu_1" },
    { type: "assistant", isReplay: true },
    { type: "user", message: {} },
    { type: "stream_event", event: { type: "message_stop" } },
    { type: "system", subtype: "status", status: null },
  ];
  const states = [...nothing, { type: "assistant", parent_tool_use_id: null }].map((line) => {
    const stream = new ClaudeStream(base);
    stream.noteOutput(line, 0);
    return stream.stateAt(0);
  });
  expect(states).toEqual([...nothing.map(() => "idle"), "working"]);
});

test.each([
  null,
  1,
  "text",
  [],
  {},
  { type: 1 },
  { type: "system", subtype: {} },
  { type: "result" },
])("a line of another shape changes nothing: %j", (line) => {
  const stream = new ClaudeStream(base);
  stream.noteInput(line, 0);
  stream.noteOutput(line, 0);
  expect([stream.stateAt(0), stream.session]).toEqual([
    "idle",
    { id: "s1", cwd: undefined, model: "old" },
  ]);
});

/** Where the stream says what the record cannot, or says it earlier. */
const knownDifferences: Record<string, string[]> = {
  // To its record a plan is a permission; here it is a question, as for the hooks.
  "plan-approval": [
    "1713 waiting_for_input, not waiting_for_permission",
    "1952 working, not waiting_for_permission",
  ],
  // The question of a subagent that was stopped stays in the record until the next turn.
  "subagent-stopped": ["1822 working, not waiting_for_permission"],
};

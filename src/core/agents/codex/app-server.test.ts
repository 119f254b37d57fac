import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import type { Report } from "../../protocol/report.ts";
import { readLoaded, readMessage, readThread } from "./app-server.ts";
import { LoadedThreads } from "./loaded-threads.ts";

const fixtures = path.resolve(import.meta.dirname, "../../../../test/fixtures/codex/app-server");
const ID = "01a229bd-592a-7140-9472-8e133208932d";
const SUB = "01a229bd-5e08-7d20-8bcd-f6706399b798";

type Line = {
  ts: number;
  note?: string;
  dir?: "in" | "out";
  line: { id?: number; method?: string; result?: { thread?: unknown } };
};

// What clients of real servers saw, passive ones until a note says otherwise. `app-server` is an own
// server with a scripted client and a terminal, the others are shared ones with terminals. Copied from
// recordings of 0.171.0; beside each is what is reported of the sessions.
const recordings = readdirSync(fixtures).filter((name) => name.endsWith(".ndjson"));

test.each(recordings)("%s: what is reported at each message", async (name) => {
  const lines: Line[] = readFileSync(path.join(fixtures, name), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const startAt = lines[0]?.ts ?? 0;
  const threads = new LoadedThreads();
  const asked = new Map<number | undefined, { method?: string | undefined; mark: number }>();
  const told = lines.flatMap(({ ts, note, dir, line }) => {
    if (note !== undefined) return [`${ts - startAt} # ${note}`];
    if (dir === "out") asked.set(line.id, { method: line.method, mark: threads.mark() });
    if (dir !== "in") return [];
    return take(threads, line, asked.get(line.id), ts).map((report) => words(report, startAt));
  });
  const expected = path.join(fixtures, name.replace(".ndjson", ".expected.txt"));
  await expect(`${told.join("\n")}\n`).toMatchFileSnapshot(expected);
});

function take(
  threads: LoadedThreads,
  line: Line["line"],
  question: { method?: string | undefined; mark: number } | undefined,
  now: number,
): Report[] {
  const message = readMessage(line);
  if (message?.kind === "subscribers_only") return [];
  if (message) return threads.take(message, now);
  if (line.method !== undefined || !question) return [];
  if (question.method === "thread/loaded/list") {
    const reports = threads.takeList(readLoaded(line.result)?.ids ?? [], question.mark, now);
    threads.takeUnread();
    return reports;
  }
  const thread = readThread(line.result?.thread);
  return thread ? threads.takeRead(thread, question.mark, now) : [];
}

function words(report: Report, startAt: number): string {
  const at = ("at" in report ? (report.at ?? 0) : 0) - startAt;
  switch (report.kind) {
    case "sighting": {
      const { session_id, event, cwd, model, transcript_path } = report.sighting;
      const state = typeof event === "object" && "stream_state" in event && event.stream_state;
      const more = cwd ? ` in ${cwd} with ${model}, ${path.basename(transcript_path ?? "")}` : "";
      return `${at} ${session_id.slice(-4)} ${state}${more}`;
    }
    case "event": {
      const [signal] = report.event.signals;
      const error = signal?.kind === "turn_ended" ? signal.error : "?";
      return `${at} ${report.event.sessionId.slice(-4)} error ${error}`;
    }
    case "end":
      return `${at} ${report.ending.session_id.slice(-4)} end ${report.ending.reason}`;
    default:
      return report.kind;
  }
}

const status = (type: string, ...activeFlags: string[]) => ({ type, activeFlags });

test.each([
  [status("active"), "working"],
  [status("active", "waitingOnApproval"), "waiting_for_permission"],
  [status("active", "waitingOnUserInput"), "waiting_for_input"],
  [status("active", "waitingOnUserInput", "waitingOnApproval"), "waiting_for_permission"],
  [status("active", "somethingNew"), "working"],
  [{ type: "active" }, "working"],
  [status("idle"), "idle"],
  [status("systemError"), "failed"],
  [status("notLoaded"), "closed"],
  [status("somethingNew"), undefined],
  ["idle", undefined],
  [undefined, undefined],
])("a status of %j is read as %s", (told, doing) => {
  const news = { method: "thread/status/changed", params: { threadId: ID, status: told } };
  const read = { kind: "status", id: ID, ...(doing === undefined ? {} : { doing }) };
  expect(readMessage(news)).toEqual(read);
});

test.each([
  ["somebody's own", {}, ID],
  ["an editor's", { threadSource: null, source: "vscode", sessionId: ID }, ID],
  ["a fork", { forkedFromId: SUB, sessionId: ID, threadSource: "user" }, ID],
  ["one that makes a title", { ephemeral: true, threadSource: "thread_title" }, undefined],
  ["one of Codex's own", { threadSource: "memory_consolidation" }, undefined],
  ["a subagent's", { sessionId: SUB, parentThreadId: "other", threadSource: "subagent" }, SUB],
  ["one that names only its parent", { parentThreadId: SUB }, SUB],
  ["a subagent's, nobody knows whose", { source: { subAgent: "review" } }, undefined],
])("whose a thread is: %s", (_, more, session) => {
  expect(readThread({ id: ID, ...more })?.session).toBe(session);
});

test.each([
  undefined,
  null,
  [],
  "text",
  {},
  { method: 7 },
  { id: 3, result: {} },
  { method: "thread/started" },
  { method: "thread/started", params: { thread: { status: { type: "idle" }, cwd: "/w" } } },
  { method: "thread/status/changed", params: { threadId: "x".repeat(5000) } },
  { method: "thread/closed", params: null },
  { method: "thread/name/updated", params: { threadId: ID, threadName: "secret" } },
  { method: "configWarning", params: { summary: "…" } },
])("a message that tells nothing is nothing: %j", (message) => {
  expect(readMessage(message)).toBeUndefined();
});

test("what only subscribers get is told apart, questions above all", () => {
  const question = { id: 0, method: "item/commandExecution/requestApproval", params: {} };
  const messages = [question, { id: "a", method: "anything" }, { method: "turn/started" }];
  const kinds = messages.map((message) => readMessage(message)?.kind);
  expect(kinds).toEqual(messages.map(() => "subscribers_only"));
});

test("of a start that lacks what is needed only the thread's id counts", () => {
  const params = { thread: { id: ID, status: { type: "idle" } } };
  const expected = { kind: "status", id: ID, at: 5 };
  expect(readMessage({ method: "thread/started", params, emittedAtMs: 5 })).toEqual(expected);
});

test("pages of loaded threads", () => {
  expect([
    readLoaded({ data: [ID, 7, ""], nextCursor: "c" }),
    readLoaded({ data: [], nextCursor: null }),
    readLoaded({}),
    readLoaded(undefined),
  ]).toEqual([{ ids: [ID], cursor: "c" }, { ids: [] }, undefined, undefined]);
});

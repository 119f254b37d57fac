import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { ClaudeStream } from "../core/agents/claude/stream.ts";
import { type Message, Outbox } from "./outbox.ts";
import { Reporter } from "./reporter.ts";

class Mailbox extends Outbox {
  readonly messages: Message[] = [];

  override add(message: Message): void {
    this.messages.push(message);
  }

  take(): unknown[] {
    return this.messages.splice(0).map(({ op, payload }) => {
      const { at, event, session_id } = payload as Record<string, unknown>;
      const { stream_state = op } = (event ?? {}) as { stream_state?: string };
      return [stream_state, session_id, Date.parse(String(at))];
    });
  }
}

function start({ entrypoint = undefined as string | undefined, isResumed = true } = {}) {
  const stream = new ClaudeStream({ id: "s1", isResumed, cwd: "/w", model: undefined });
  const outbox = new Mailbox("");
  const reporter = new Reporter({ stream, outbox, pid: 7, entrypoint });
  return { stream, outbox, reporter };
}

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
  onTestFinished(() => {
    vi.useRealTimers();
  });
});

test("a report says what there is to say and nothing else", () => {
  const { outbox, reporter } = start({ entrypoint: "sdk-cli" });
  reporter.report();
  expect(outbox.messages).toEqual([
    {
      op: "observe",
      payload: {
        session_id: "s1",
        event: { stream_state: "idle" },
        agent: "claude",
        cwd: "/w",
        model: undefined,
        pid: 7,
        headless: true,
        at: new Date(1_000_000).toISOString(),
      },
    },
  ]);
});

test("only what changed is sent, and again every 30 s", () => {
  const { stream, outbox, reporter } = start();
  reporter.report();
  reporter.report();
  stream.notePrompt(Date.now());
  vi.advanceTimersByTime(10_000);
  reporter.report();
  reporter.report();
  expect(outbox.take()).toEqual([
    ["idle", "s1", 1_000_000],
    ["working", "s1", 1_010_000],
  ]);
  vi.advanceTimersByTime(29_999);
  expect(outbox.take()).toEqual([]);
  vi.advanceTimersByTime(30_001);
  expect(outbox.take()).toEqual([
    ["working", "s1", 1_040_000],
    ["working", "s1", 1_070_000],
  ]);
});

test("what changes by itself is told when it does", () => {
  const { stream, outbox, reporter } = start();
  stream.notePrompt(Date.now());
  stream.notePrompt(Date.now());
  stream.noteOutput({ type: "result" }, Date.now());
  reporter.report();
  vi.advanceTimersByTime(5000);
  expect(outbox.take()).toEqual([
    ["working", "s1", 1_000_000],
    ["idle", "s1", 1_001_000],
  ]);
});

test("a session that goes on under another id ends under the old one", () => {
  const { stream, outbox, reporter } = start();
  reporter.report();
  stream.noteOutput({ type: "system", subtype: "init", session_id: "s2" }, Date.now());
  reporter.report();
  expect(outbox.take().map((it) => (it as string[]).slice(0, 2))).toEqual([
    ["idle", "s1"],
    ["end", "s1"],
    ["idle", "s2"],
  ]);
});

test("the end is told once, with nothing after it; a session that nobody spoke to has none", () => {
  const { outbox, reporter } = start();
  reporter.report();
  reporter.finish();
  reporter.finish();
  vi.advanceTimersByTime(100_000);
  expect(outbox.messages).toHaveLength(2);
  expect(outbox.messages[1]).toEqual({
    op: "end",
    payload: { session_id: "s1", pid: 7, at: new Date(1_000_000).toISOString() },
  });
  const unused = start({ isResumed: false });
  unused.reporter.report();
  unused.reporter.finish();
  expect(unused.outbox.messages).toEqual([]);
});

test("times never go back, even if the clock does", () => {
  const { stream, outbox, reporter } = start();
  reporter.report();
  vi.setSystemTime(500_000);
  stream.notePrompt(Date.now());
  reporter.report();
  expect(outbox.take()).toEqual([
    ["idle", "s1", 1_000_000],
    ["working", "s1", 1_000_000],
  ]);
});

import { isHeadlessEntrypoint } from "../core/agents/claude/record.ts";
import type { ClaudeStream } from "../core/agents/claude/stream.ts";
import { HEARTBEAT_MS } from "../core/protocol/limits.ts";
import type { Outbox } from "./outbox.ts";

export type ReporterOptions = {
  stream: ClaudeStream;
  outbox: Outbox;
  /** Claude's own process. */
  pid: number;
  /** What started Claude, as Claude itself is told. */
  entrypoint: string | undefined;
};

/** Tells the daemon what the stream says: when that changes, and every so often. */
export class Reporter {
  readonly #stream: ClaudeStream;
  readonly #outbox: Outbox;
  readonly #pid: number;
  readonly #entrypoint: string | undefined;
  #sessionId: string | undefined;
  #lastReport = "";
  #lastAt = 0;
  #heartbeat: NodeJS.Timeout | undefined;
  #deadline: NodeJS.Timeout | undefined;

  constructor({ stream, outbox, pid, entrypoint }: ReporterOptions) {
    this.#stream = stream;
    this.#outbox = outbox;
    this.#pid = pid;
    this.#entrypoint = entrypoint;
  }

  /** Sends what is so now, if it differs from what was sent last. */
  report({ again = false } = {}): void {
    const { session } = this.#stream;
    if (!session) return;
    const now = Date.now();
    const { id, ...fields } = session;
    // One process has one session: `/clear` goes on in another.
    if (this.#sessionId !== undefined && this.#sessionId !== id) this.#end(this.#sessionId);
    this.#sessionId = id;
    const isHeadless = this.#entrypoint !== undefined && isHeadlessEntrypoint(this.#entrypoint);
    const seen = {
      session_id: id,
      event: { stream_state: this.#stream.stateAt(now) },
      agent: "claude",
      ...fields,
      pid: this.#pid,
      ...(isHeadless ? { headless: true } : {}),
    };
    const text = JSON.stringify(seen);
    if (again || text !== this.#lastReport) {
      this.#lastReport = text;
      this.#outbox.add({ op: "observe", payload: { ...seen, at: this.#at() } });
      clearTimeout(this.#heartbeat);
      this.#heartbeat = later(HEARTBEAT_MS, () => this.report({ again: true }));
    }
    clearTimeout(this.#deadline);
    const deadline = this.#stream.nextDeadline(now);
    if (deadline !== undefined) this.#deadline = later(deadline - now, () => this.report());
  }

  /** The process is gone. */
  finish(): void {
    clearTimeout(this.#heartbeat);
    clearTimeout(this.#deadline);
    if (this.#sessionId !== undefined) this.#end(this.#sessionId);
    this.#sessionId = undefined;
  }

  #end(sessionId: string): void {
    this.#outbox.add({
      op: "end",
      payload: { session_id: sessionId, pid: this.#pid, at: this.#at() },
    });
  }

  /** Never goes back, even if the clock does: what is older than known is not news to the daemon. */
  #at(): string {
    this.#lastAt = Math.max(this.#lastAt, Date.now());
    return new Date(this.#lastAt).toISOString();
  }
}

/** A timer that keeps nothing from ending. */
function later(ms: number, act: () => void): NodeJS.Timeout {
  return setTimeout(act, ms).unref();
}

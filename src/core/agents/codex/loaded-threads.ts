import { MAX_SESSIONS } from "../../protocol/limits.ts";
import type { Report } from "../../protocol/report.ts";
import type { Sighting } from "../../protocol/session.ts";
import type { EpochMs } from "../../protocol/time.ts";
import type { Doing, Thread, ThreadNews } from "./app-server.ts";

type LoadedDoing = Exclude<Doing, "closed">;

/** A point in what was heard: an answer to what was asked at it is older than all heard after it. */
export type Mark = number;

type Held = {
  heardAt: Mark;
  isUnread: boolean;
  /** What it is, once that is known. */
  thread?: Thread;
  doing?: LoadedDoing;
  /** What was last told of the session that it is. */
  told?: { doing: LoadedDoing; at: EpochMs };
};

/** What its subagents ask for is asked of the session's user, permissions first. */
const SHARED = ["waiting_for_permission", "waiting_for_input"] as const;

/**
 * The threads that one server has loaded, and what is to be reported of them: an exact statement for
 * each session. Of a thread that is only heard of by its id it has to be read first what it is.
 *
 * A subagent runs in a thread of its own. Its session is what Codex calls it, free for the next prompt
 * once its own turn is over, unless the subagent needs an answer.
 */
export class LoadedThreads {
  readonly #held = new Map<string, Held>();
  #heard: Mark = 0;

  mark(): Mark {
    return this.#heard;
  }

  /** Takes in what the server says by itself. */
  take(news: ThreadNews, now: EpochMs): Report[] {
    const at = Math.min(news.at ?? now, now);
    const { id, doing } = news.kind === "started" ? news.thread : news;
    this.#heard += 1;
    if (doing === "closed") return this.#close(id, at);
    const held = this.#hold(id);
    if (!held) return [];
    held.heardAt = this.#heard;
    if (doing !== undefined) held.doing = doing;
    return news.kind === "started"
      ? this.#describe(held, news.thread, at)
      : this.#tell(held.thread?.session, at);
  }

  /** Takes in a thread that was read. */
  takeRead(thread: Thread, askedAt: Mark, now: EpochMs): Report[] {
    const held = this.#held.get(thread.id);
    if (!held) return []; // closed meanwhile
    if (held.heardAt <= askedAt || held.doing === undefined) {
      if (thread.doing === "closed") return this.#close(thread.id, now);
      if (thread.doing !== undefined) held.doing = thread.doing;
    }
    return this.#describe(held, thread, now);
  }

  /** A thread could not be read: it is asked for again when it is next heard of. */
  giveUp(id: string): void {
    if (!this.#held.get(id)?.thread) this.#held.delete(id);
  }

  /** Takes in which threads are loaded: the others are closed. */
  takeList(ids: readonly string[], askedAt: Mark, now: EpochMs): Report[] {
    const loaded = new Set(ids);
    for (const id of loaded) this.#hold(id);
    const gone = [...this.#held].filter(([id, held]) => !loaded.has(id) && held.heardAt <= askedAt);
    return gone.flatMap(([id]) => this.#close(id, now));
  }

  /** The threads that are to be read; they count as asked for. */
  takeUnread(): string[] {
    const unread = [...this.#held].filter(([, held]) => held.isUnread);
    for (const [, held] of unread) held.isUnread = false;
    return unread.map(([id]) => id);
  }

  /** For a while nothing was heard: what every thread does is to be read anew. */
  renew(): void {
    for (const held of this.#held.values()) held.isUnread = true;
  }

  /**
   * Says again what is still so, since an exact statement counts only while it is repeated. Those that
   * were heard of since the server was asked were told just now.
   */
  repeat(askedAt: Mark, now: EpochMs): Report[] {
    return [...this.#held].flatMap(([id, { told, heardAt }]) => {
      if (!told || heardAt > askedAt) return [];
      told.at = Math.max(told.at, now);
      return [statement(id, told.doing, told.at)];
    });
  }

  /** Nothing more will be heard, which is no end of any of them. */
  lose(): Report[] {
    const told = [...this.#held].filter(([, held]) => held.told);
    this.#held.clear();
    return told.map(([sessionId]) => ({ kind: "stream_lost", sessionId }));
  }

  #hold(id: string): Held | undefined {
    const known = this.#held.get(id);
    if (known || this.#held.size >= MAX_SESSIONS) return known;
    const held = { heardAt: this.#heard, isUnread: true };
    this.#held.set(id, held);
    return held;
  }

  #close(id: string, at: EpochMs): Report[] {
    const held = this.#held.get(id);
    this.#held.delete(id);
    if (!held?.told) return this.#tell(held?.thread?.session, at);
    const ending = { session_id: id, reason: "closed" };
    return [{ kind: "end", ending, at: Math.max(at, held.told.at) }];
  }

  /** Takes in what a thread is. Of a session that is told too: later, others may know its model better. */
  #describe(held: Held, thread: Thread, at: EpochMs): Report[] {
    const { id, session, fields, headless } = thread;
    held.thread = thread;
    held.isUnread = false;
    const isOwn = session === id;
    return this.#tell(
      session,
      at,
      isOwn ? { ...fields, ...(headless ? { headless } : {}) } : undefined,
    );
  }

  /** Tells what a session does, if that is news or there is more to tell. */
  #tell(session: string | undefined, seenAt: EpochMs, more?: Partial<Sighting>): Report[] {
    const held = session === undefined ? undefined : this.#held.get(session);
    if (session === undefined || held?.thread?.session !== session) return [];
    const doing = this.#doingOf(session, held);
    const isNews = doing !== held.told?.doing;
    if (doing === undefined || !(isNews || more)) return [];
    // A repetition may have come between the message and its arrival.
    const at = Math.max(seenAt, held.told?.at ?? 0);
    held.told = { doing, at };
    const told = statement(session, doing, at, more);
    // The word comes first, so that no reader sees a turn end well before it is known to have failed.
    return doing === "failed" && isNews ? [failure(session, at), told] : [told];
  }

  #doingOf(session: string, { doing }: Held): LoadedDoing | undefined {
    const all = [...this.#held.values()].filter(({ thread }) => thread?.session === session);
    return doing && (SHARED.find((shared) => all.some((it) => it.doing === shared)) ?? doing);
  }
}

function statement(
  session_id: string,
  doing: LoadedDoing,
  at: EpochMs,
  more: Partial<Sighting> = {},
): Report {
  const event = { stream_state: doing === "failed" ? "idle" : doing } as const;
  return { kind: "sighting", sighting: { ...more, session_id, agent: "codex", event }, at };
}

/** Beside the state: the word for what ended the turn, which is shown until the next one. */
function failure(sessionId: string, at: EpochMs): Report {
  const signals = [{ kind: "turn_ended", error: "system_error" }] as const;
  const told = { sessionId, agent: "codex", event: "stop", name: "systemError" } as const;
  return { kind: "event", event: { ...told, signals, fields: {} }, at };
}

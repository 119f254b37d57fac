import type { Clock } from "../platform/clock.ts";
import { okLine } from "./replies.ts";

/** After a frame, changes of this long are gathered into the next one, so that a burst gives one. */
const WINDOW_MS = 30;

/** Without a setting, unannounced changes are looked for this often. */
const RESAMPLE_MS = 10_000;

/** Looking more often than this would keep a core busy. */
const SHORTEST_RESAMPLE_MS = 10;

/** Reads `OMNI_DEV_DAEMON_STREAM_TICK`: seconds, decimals allowed; anything else is the default. */
export function resampleMs(setting: string | undefined): number {
  const ms = Number(setting) * 1000;
  return setting && ms > 0 && ms < Number.POSITIVE_INFINITY
    ? Math.max(ms, SHORTEST_RESAMPLE_MS)
    : RESAMPLE_MS;
}

/** Where frames go: a socket, as far as a topic needs it. */
export interface Subscriber {
  /** Sends `frame` and calls `done` once when it has left this process, or cannot. */
  write(frame: Buffer, done: (error?: Error | null) => void): unknown;
}

type Seat = { subscriber: Subscriber; sent?: Buffer; busy: boolean };

export type TopicOptions = {
  /** The payload as JSON text; asked for only while somebody subscribes. */
  snapshot: () => string;
  clock: Clock;
  resampleMs: number;
  windowMs?: number;
};

/**
 * Sends the newest snapshot of something to all who subscribe.
 *
 * Each change is serialised once, into one buffer that all subscribers share. No subscriber gets
 * the same frame twice in a row. One that does not read holds one frame, the one that is on its
 * way, and gets the newest when that has left.
 */
export class Topic {
  readonly #options: Required<TopicOptions>;
  readonly #seats = new Set<Seat>();
  #frame: { text: string; bytes: Buffer } | undefined;
  #closed = false;
  /** Lives while there are subscribers; its timers are the window and the re-sample. */
  #active: AbortController | undefined;
  #inWindow = false;
  #changedInWindow = false;

  constructor(options: TopicOptions) {
    this.#options = { windowMs: WINDOW_MS, ...options };
  }

  /** Tells that the snapshot may have changed. */
  changed(): void {
    if (this.#seats.size === 0) return;
    if (this.#inWindow) this.#changedInWindow = true;
    else this.#publish();
  }

  /** Sends the subscriber a frame at once and then each new one; returns what ends that. */
  add(subscriber: Subscriber): () => void {
    if (this.#closed) return () => {};
    this.#refresh();
    const seat: Seat = { subscriber, busy: false };
    this.#seats.add(seat);
    if (!this.#active) {
      this.#active = new AbortController();
      this.#resampleLater(this.#active.signal);
    }
    this.#deliverToAll();
    return () => this.#remove(seat);
  }

  /** Forgets all subscribers; their connections are not touched. */
  close(): void {
    this.#closed = true;
    for (const seat of this.#seats) this.#remove(seat);
  }

  #publish(): void {
    this.#refresh();
    this.#deliverToAll();
  }

  #refresh(): void {
    const text = this.#options.snapshot();
    if (text !== this.#frame?.text) this.#frame = { text, bytes: Buffer.from(okLine(text)) };
  }

  #deliverToAll(): void {
    this.#openWindow();
    for (const seat of this.#seats) this.#deliver(seat);
  }

  #deliver(seat: Seat): void {
    const frame = this.#frame?.bytes;
    if (!frame || seat.busy || !this.#seats.has(seat) || seat.sent?.equals(frame)) return;
    seat.busy = true;
    seat.sent = frame;
    seat.subscriber.write(frame, (error) => {
      seat.busy = false;
      if (error) this.#remove(seat);
      else this.#deliver(seat);
    });
  }

  #remove(seat: Seat): void {
    this.#seats.delete(seat);
    if (this.#seats.size > 0) return;
    this.#active?.abort();
    this.#active = undefined;
    this.#frame = undefined;
    this.#inWindow = false;
    this.#changedInWindow = false;
  }

  #openWindow(): void {
    if (this.#inWindow || !this.#active) return;
    this.#inWindow = true;
    const close = () => {
      this.#inWindow = false;
      if (!this.#changedInWindow) return;
      this.#changedInWindow = false;
      this.#publish();
    };
    this.#options.clock.after(this.#options.windowMs, close, this.#active.signal);
  }

  #resampleLater(signal: AbortSignal): void {
    const resample = () => {
      this.#publish();
      this.#resampleLater(signal);
    };
    this.#options.clock.after(this.#options.resampleMs, resample, signal);
  }
}

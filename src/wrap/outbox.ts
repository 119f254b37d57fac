import { connect } from "node:net";

/** The longest that one message may take. */
const CONNECTION_MS = 2000;

/** Messages that may wait for their turn. */
const MAX_WAITING = 32;

/** A request to the daemon's service `sessions`, as it goes over the wire. */
export type Message = {
  op: "observe" | "end";
  payload: { session_id: string; [field: string]: unknown };
};

/**
 * Sends messages to the daemon one after another, in the background. What cannot be delivered is
 * dropped, and nobody hears of it.
 */
export class Outbox {
  readonly #socketPath: string;
  readonly #waiting: Message[] = [];
  #isSending = false;
  #onEmpty: (() => void) | undefined;

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  /** Takes a message. An older report of the same session that still waits gives way to it. */
  add(message: Message): void {
    const last = this.#waiting.at(-1);
    const isOutdated =
      last?.op === "observe" &&
      message.op === "observe" &&
      last.payload.session_id === message.payload.session_id;
    if (isOutdated) this.#waiting.pop();
    else if (this.#waiting.length >= MAX_WAITING) this.#waiting.shift(); // an end is always the last
    this.#waiting.push(message);
    if (!this.#isSending) this.#sendNext();
  }

  /** Calls back when all has left, at the latest after `patienceMs`. */
  flush(patienceMs: number, done: () => void): void {
    if (!this.#isSending) {
      done();
      return;
    }
    const timer = setTimeout(done, patienceMs);
    this.#onEmpty = () => {
      clearTimeout(timer);
      done();
    };
  }

  #sendNext(): void {
    const next = this.#waiting.shift();
    this.#isSending = next !== undefined;
    if (!next) {
      this.#onEmpty?.();
      return;
    }
    const socket = connect(this.#socketPath);
    const timer = setTimeout(() => socket.destroy(), CONNECTION_MS);
    socket
      .on("error", () => {}) // "close" follows
      .on("data", () => socket.destroy())
      .on("close", () => {
        clearTimeout(timer);
        this.#sendNext();
      })
      .write(`${JSON.stringify({ service: "sessions", ...next })}\n`);
  }
}

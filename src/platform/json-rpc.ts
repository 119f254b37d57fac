import type { Clock } from "./clock.ts";
import { openWebSocket, type WebSocketConnection, type WebSocketEnd } from "./web-socket.ts";

export type JsonRpcOptions = {
  /** The Unix socket that the server listens on, for WebSockets. */
  socketPath: string;
  /** A longer message ends the connection, before it is read. */
  maxMessageBytes: number;
  /** A server that takes longer for an answer hangs, which ends the connection. */
  answerMs: number;
  /** Takes all that answers no question of ours. */
  onMessage: (message: unknown) => void;
  clock: Clock;
};

/** Why a connection is over: nobody listens there, or what went wrong, or neither. */
export type JsonRpcEnd = { isAbsent: boolean; problem?: string };

/** Codes of errors that only say that a server has gone, or goes just now. */
const ABSENT = new Set(["ENOENT", "ECONNREFUSED"]);
const GOING = new Set(["ECONNRESET", "EPIPE"]);

/**
 * A client of a JSON-RPC server that can do no more than its type says: it asks these questions, tells
 * these things, and answers nothing. What is no JSON is dropped. Nothing is ever thrown.
 */
export class JsonRpcClient<Question extends string, Telling extends string> {
  /** Whether the connection came about. */
  readonly opened: Promise<boolean>;
  readonly over: Promise<JsonRpcEnd>;
  /** Aborts when nothing more will be heard. */
  readonly signal: AbortSignal;
  readonly #options: JsonRpcOptions;
  readonly #connection: WebSocketConnection;
  readonly #gone = new AbortController();
  readonly #asked = new Map<number, (result: unknown) => void>();
  #lastId = 0;
  #problem: string | undefined;

  constructor(options: JsonRpcOptions) {
    this.#options = options;
    this.signal = this.#gone.signal;
    const { socketPath, maxMessageBytes } = options;
    const onText = (text: string) => this.#hear(text);
    this.#connection = openWebSocket({ socketPath, maxMessageBytes, onText });
    this.opened = this.#within(this.#connection.opened);
    this.over = this.#connection.ended.then((end) => this.#endOf(end));
  }

  /** Asks; nothing comes back when the server refuses, or when the connection is over. */
  ask(method: Question, params: object): Promise<unknown> {
    this.#lastId += 1;
    const id = this.#lastId;
    const answer = new Promise((resolve) => {
      if (this.signal.aborted) resolve(undefined);
      else this.#asked.set(id, resolve);
    });
    this.#connection.send(JSON.stringify({ id, method, params }));
    return this.#within(answer).finally(() => this.#asked.delete(id));
  }

  tell(method: Telling): void {
    this.#connection.send(JSON.stringify({ method }));
  }

  /** Says goodbye; a problem is told as the reason. */
  end(problem?: string): void {
    if (this.signal.aborted) return;
    this.#problem = problem;
    this.#letGo();
    this.#connection.close();
  }

  #hear(text: string): void {
    const message = parse(text);
    if (typeof message !== "object" || message === null) return;
    const { id, method, result } = message as Record<string, unknown>;
    if (method !== undefined) this.#options.onMessage(message);
    else if (typeof id === "number") this.#asked.get(id)?.(result);
  }

  #within<T>(answer: Promise<T>): Promise<T> {
    const { clock, answerMs } = this.#options;
    const answered = new AbortController();
    clock.after(answerMs, () => this.end("it does not answer"), answered.signal);
    return answer.finally(() => answered.abort(null));
  }

  #letGo(): void {
    this.#gone.abort(null);
    for (const resolve of this.#asked.values()) resolve(undefined);
  }

  #endOf({ code = "", message }: WebSocketEnd): JsonRpcEnd {
    const isOurs = this.signal.aborted;
    this.#letGo();
    const isAbsent = ABSENT.has(code);
    const theirs = isAbsent || GOING.has(code) ? undefined : message;
    const problem = isOurs ? this.#problem : theirs;
    return { isAbsent, ...(problem === undefined ? {} : { problem }) };
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // dropped, as is all else that is no message
  }
}

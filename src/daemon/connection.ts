import type { Socket } from "node:net";
import { MAX_LINE_BYTES } from "../core/protocol/limits.ts";
import { LineReader } from "../core/protocol/lines.ts";
import type { Clock } from "../platform/clock.ts";
import { errorLine, okLine, wordsFor } from "./replies.ts";
import type { Route, Router } from "./router.ts";
import type { RawOp } from "./service.ts";

/** Once this much of the replies is unread, no further request is read: memory stays bounded. */
const MAX_UNREAD_BYTES = MAX_LINE_BYTES;

/**
 * How long a refused client may go on sending. Closing at once would break the pipe under it, and
 * it would never read why.
 */
const LINGER_MS = 1000;

export type ConnectionOptions = {
  route: Router;
  /** What the bodies that are coming in hold, over all connections. */
  bodies: { bytes: number; readonly max: number };
  clock: Clock;
  /** Told of each error that was not written for the client. */
  onBug: (error: unknown) => void;
};

type Body = { kind: "body"; op: RawOp; header: unknown; chunks: Uint8Array[]; bytes: number };
type Mode =
  | { kind: "requests" }
  | { kind: "stream"; leave: () => void }
  | Body
  | { kind: "closing" };

/** One client: answers its requests strictly in order, until it or the daemon ends. */
export class Connection {
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #reader = new LineReader(MAX_LINE_BYTES);
  #mode: Mode = { kind: "requests" };
  #answering = false;
  /** No further bytes are wanted: the client has sent its last, or the daemon stops. */
  #lastCall = false;

  /** `socket` must allow half-open: a client may end its side before it has its answer. */
  constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    socket.on("data", (chunk) => this.#take(chunk));
    socket.on("end", () => this.#ended());
    socket.on("drain", () => this.#proceed());
    socket.on("error", () => {}); // a client that vanished: "close" follows
    socket.once("close", () => {
      if (this.#mode.kind === "stream") this.#mode.leave();
      if (this.#mode.kind === "body") this.#release(this.#mode);
      this.#mode = { kind: "closing" };
    });
  }

  /** Answers what has arrived and then closes; a body may still come in. */
  drain(): void {
    this.#lastCall = true;
    this.#proceed();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    switch (this.#mode.kind) {
      case "requests":
        this.#reader.push(chunk);
        if (this.#answering) this.#socket.pause();
        else this.#proceed();
        return;
      case "stream":
        this.#reader.push(chunk);
        this.#proceed();
        return;
      case "body":
        this.#addToBody(this.#mode, [chunk]);
        return;
      case "closing": // read, so that the client is not blocked, and dropped
        return;
    }
  }

  #ended(): void {
    this.#lastCall = true;
    if (this.#mode.kind === "body") void this.#answerBody(this.#mode);
    else this.#proceed();
  }

  /** Goes on as far as it can without waiting. */
  #proceed(): void {
    while (this.#mode.kind === "requests" && !this.#answering) {
      if (this.#socket.writableLength > MAX_UNREAD_BYTES) {
        this.#socket.pause(); // "drain" comes back here
        return;
      }
      const line = this.#reader.next();
      if (line === undefined) {
        if (this.#lastCall) this.#close();
        break;
      }
      if (line === "tooLong") this.#refuse(`a line is longer than ${MAX_LINE_BYTES} bytes`);
      else if (!isBlank(line)) this.#handle(line);
    }
    const cancelled = () => this.#lastCall || this.#reader.next() !== undefined;
    if (this.#mode.kind === "stream" && cancelled()) this.#close();
    if (!this.#answering && this.#socket.isPaused()) this.#socket.resume();
  }

  #handle(line: Uint8Array): void {
    try {
      this.#follow(this.#options.route(line));
    } catch (error) {
      this.#fail(error);
    }
  }

  #follow(route: Route): void {
    switch (route.kind) {
      case "call":
        void this.#answer(route.run);
        return;
      case "stream":
        this.#mode = {
          kind: "stream",
          leave: route.topic.add({ write: (frame, done) => this.#socket.write(frame, done) }),
        };
        return;
      case "raw": {
        const { op, header } = route;
        const body: Body = { kind: "body", op, header, chunks: [], bytes: 0 };
        this.#mode = body;
        this.#addToBody(body, this.#reader.takeRest());
        return;
      }
    }
  }

  async #answer(run: () => unknown): Promise<void> {
    this.#answering = true;
    try {
      const payload = await run();
      this.#write(okLine(JSON.stringify(payload) ?? "null"));
    } catch (error) {
      this.#fail(error);
    }
    this.#answering = false;
    this.#proceed();
  }

  #addToBody(body: Body, chunks: Uint8Array[]): void {
    const { bodies } = this.#options;
    for (const chunk of chunks) {
      body.bytes += chunk.length;
      bodies.bytes += chunk.length;
      body.chunks.push(chunk);
    }
    const isTooLong = body.bytes > body.op.maxBytes;
    if (isTooLong || bodies.bytes > bodies.max) {
      this.#release(body);
      this.#refuse(
        isTooLong
          ? `the body is longer than ${body.op.maxBytes} bytes`
          : "too many bodies at once, try again",
      );
    } else if (this.#socket.readableEnded) void this.#answerBody(body);
  }

  #release(body: Body): void {
    this.#options.bodies.bytes -= body.bytes;
    body.bytes = 0;
    body.chunks = [];
  }

  async #answerBody(body: Body): Promise<void> {
    const whole = Buffer.concat(body.chunks, body.bytes);
    this.#release(body);
    try {
      await body.op.run(body.header, whole);
      this.#write(okLine('{"ok":true}'));
    } catch (error) {
      this.#fail(error);
    }
    this.#close();
  }

  #fail(error: unknown): void {
    const words = wordsFor(error);
    if (words === undefined) this.#options.onBug(error);
    this.#write(errorLine(words ?? "internal error"));
  }

  /** Says why, closes, and for a moment lets the client finish what it is sending. */
  #refuse(message: string): void {
    this.#write(errorLine(message));
    this.#mode = { kind: "closing" };
    this.#socket.end();
    if (this.#socket.isPaused()) this.#socket.resume();
    const gone = new AbortController();
    this.#socket.once("close", () => gone.abort());
    this.#options.clock.after(LINGER_MS, () => this.#socket.destroy(), gone.signal);
  }

  /** Closes as soon as what was written has left. */
  #close(): void {
    if (this.#mode.kind === "stream") this.#mode.leave();
    this.#mode = { kind: "closing" };
    this.#socket.destroySoon();
  }

  #write(line: string): void {
    if (this.#socket.writable) this.#socket.write(line);
  }
}

/** Blank lines are no requests: people press return, and some end their lines with `\r\n`. */
const isBlank = (line: Uint8Array) => line.every((byte) => byte <= 0x20);

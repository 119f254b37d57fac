import net from "node:net";
import { ToolError } from "../core/protocol/errors.ts";
import { MAX_LINE_BYTES } from "../core/protocol/limits.ts";
import { LineReader } from "../core/protocol/lines.ts";
import { type Clock, systemClock } from "../platform/clock.ts";

/** Longer than a daemon on a busy machine needs, short enough for somebody who waits. */
export const TIMEOUT_MS = 5000;

export type ConnectOptions = {
  /** How long connecting, and each `next` that is bounded, may take. */
  timeoutMs?: number | undefined;
  /** Aborting breaks the connection off; what waits for it rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  clock?: Clock | undefined;
};

/**
 * Connects to the daemon.
 *
 * @throws ToolError `daemonUnreachable` that names the socket and the reason.
 */
export async function connect(
  socketPath: string,
  options: ConnectOptions = {},
): Promise<DaemonLines> {
  options.signal?.throwIfAborted();
  const lines = new DaemonLines(socketPath, options);
  await lines.connected();
  return lines;
}

/** A connection that is read one line at a time. What is not asked for is not read. */
export class DaemonLines {
  readonly #socketPath: string;
  readonly #timeoutMs: number;
  readonly #clock: Clock;
  readonly #socket: net.Socket;
  readonly #reader = new LineReader(MAX_LINE_BYTES);
  #connected = false;
  #ended = false;
  #failure: { error: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(socketPath: string, { timeoutMs, signal, clock }: ConnectOptions) {
    this.#socketPath = socketPath;
    this.#timeoutMs = timeoutMs ?? TIMEOUT_MS;
    this.#clock = clock ?? systemClock;
    this.#socket = net.connect(socketPath);
    this.#socket.on("connect", () => {
      this.#connected = true;
      this.#wake?.();
    });
    this.#socket.on("data", (chunk) => {
      this.#reader.push(chunk);
      this.#socket.pause();
      this.#wake?.();
    });
    this.#socket.on("error", (error) => {
      // Once connected, an error is one way for the stream to end; what came before still counts.
      if (!this.#connected) this.#fail(this.#unreachable(wordsFor(error), error));
    });
    const abort = () => this.#fail(signal?.reason);
    signal?.addEventListener("abort", abort);
    this.#socket.on("close", () => {
      this.#ended = true;
      signal?.removeEventListener("abort", abort);
      this.#wake?.();
    });
  }

  /** Resolves when the daemon has taken the connection. */
  async connected(): Promise<void> {
    await this.#until(() => this.#connected, "bounded");
  }

  write(line: string): void {
    if (this.#socket.writable) this.#socket.write(line);
  }

  /**
   * Reads the next line; `undefined` when the daemon has closed the connection.
   *
   * @param patience  `"bounded"`: for at most the connection's timeout; `"endless"`: for any time.
   * @throws ToolError `daemonUnreachable` when it took too long, `brokenReply` when the line is too
   * long or breaks off.
   */
  async next(patience: "bounded" | "endless"): Promise<Uint8Array | undefined> {
    let line: Uint8Array | "tooLong" | undefined;
    const arrived = () => {
      line ??= this.#reader.next();
      if (line === undefined && this.#socket.isPaused()) this.#socket.resume();
      return line !== undefined || this.#ended;
    };
    await this.#until(arrived, patience);
    const torn = line === undefined && this.#reader.takeRest().length > 0;
    if (torn) throw this.#broken("its answer breaks off");
    if (line === "tooLong") throw this.#broken(`its answer is longer than ${MAX_LINE_BYTES} bytes`);
    return line;
  }

  close(): void {
    this.#socket.destroy();
  }

  #until(isSo: () => boolean, patience: "bounded" | "endless"): Promise<void> {
    const met = new AbortController();
    return new Promise<void>((resolve, reject) => {
      const look = () => {
        if (this.#failure) reject(this.#failure.error);
        else if (isSo()) resolve();
      };
      this.#wake = look;
      if (patience === "bounded")
        this.#clock.after(
          this.#timeoutMs,
          () => this.#fail(this.#unreachable(`no answer within ${this.#timeoutMs / 1000} s`)),
          met.signal,
        );
      look();
    }).finally(() => {
      this.#wake = undefined;
      met.abort(null); // without a reason, one is made up, stack and all
    });
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#socket.destroy();
    this.#wake?.();
  }

  #unreachable(reason: string, cause?: unknown): ToolError {
    return new ToolError(
      "daemonUnreachable",
      `Cannot reach the daemon at ${this.#socketPath}: ${reason}`,
      { cause },
    );
  }

  #broken(reason: string): ToolError {
    return new ToolError(
      "brokenReply",
      `Cannot read what the daemon at ${this.#socketPath} says: ${reason}`,
    );
  }
}

function wordsFor(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case "ENOENT":
      return "there is no such socket";
    case "ECONNREFUSED":
      return "nobody listens there";
    case "EACCES":
      return "permission denied";
    case "EAGAIN":
      return "it accepts no connections";
    default:
      return error.message;
  }
}

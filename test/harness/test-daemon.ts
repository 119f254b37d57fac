import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { LineReader } from "../../src/core/protocol/lines.ts";
import { type DaemonOptions, type RunningDaemon, startDaemon } from "../../src/daemon/daemon.ts";
import { memoryLog } from "../../src/daemon/log.ts";
import type { Service } from "../../src/daemon/service.ts";
import { systemClock } from "../../src/platform/clock.ts";

/** A directory that goes when the test ends. */
export function tempDir(): string {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "omni-"));
  onTestFinished(() => fs.rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** A sessions service with only what a test is about. */
export function fakeService(parts: Partial<Service> = {}): Service {
  return {
    name: "sessions",
    handlers: {},
    streams: {},
    status: () => ({ name: "sessions", healthy: true, summary: "fake", detail: null }),
    ...parts,
  };
}

export type TestDaemon = RunningDaemon & { logged: string[] };

/** Starts a daemon that stops when the test ends. */
export async function startTestDaemon(
  service: Service | undefined,
  options: Partial<DaemonOptions> = {},
): Promise<TestDaemon> {
  const { log, lines } = memoryLog();
  const daemon = await startDaemon({
    socketPath: options.socketPath ?? path.join(tempDir(), "d.sock"),
    isDefault: false,
    clock: systemClock,
    services: () => (service ? [service] : []),
    log,
    ...options,
  });
  onTestFinished(() => daemon.stop());
  return { ...daemon, logged: lines };
}

/** A client that sees every byte. */
export class Wire {
  readonly socket: net.Socket;
  readonly #reader = new LineReader(2 ** 30);
  #ended = false;
  #wake = () => {};

  /** Resolves when the daemon has taken the connection. */
  static async open(socketPath: string): Promise<Wire> {
    const socket = net.connect({ path: socketPath, allowHalfOpen: true });
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", () => resolve());
      socket.once("error", reject);
    });
    return new Wire(socket);
  }

  constructor(socket: net.Socket) {
    this.socket = socket;
    socket.on("error", () => {}); // seen as the end
    socket.on("data", (chunk) => {
      this.#reader.push(chunk);
      this.#wake();
    });
    const end = () => {
      this.#ended = true;
      this.#wake();
    };
    socket.on("end", end);
    socket.on("close", end);
    onTestFinished(() => {
      socket.destroy();
    });
  }

  send(...lines: unknown[]): void {
    this.socket.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  }

  /** The next line, or `undefined` when the daemon has ended its side. */
  async line(): Promise<string | undefined> {
    for (;;) {
      const line = this.#reader.next();
      if (line instanceof Uint8Array) return new TextDecoder().decode(line);
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async json(): Promise<unknown> {
    const line = await this.line();
    return line === undefined ? undefined : JSON.parse(line);
  }

  /** Every line up to the end. */
  async rest(): Promise<string[]> {
    const lines: string[] = [];
    for (let line = await this.line(); line !== undefined; line = await this.line())
      lines.push(line);
    return lines;
  }
}

/** A promise, and what settles it. */
export function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Leaves a socket file behind that nobody listens at, as a killed daemon does. */
export async function leaveStaleSocket(socketPath: string): Promise<void> {
  const server = net.createServer();
  const bound = `${socketPath}.x`;
  await new Promise<void>((resolve) => server.listen(bound, resolve));
  fs.renameSync(bound, socketPath);
  await new Promise((resolve) => server.close(resolve));
}

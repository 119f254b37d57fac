import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";

/** A daemon as a client meets it: it does to each connection what the test says. */
export class FakeDaemon {
  readonly socketPath: string;
  readonly #server: net.Server;
  readonly #sockets = new Set<net.Socket>();
  /** What to do with each request line; a test may change it at any time. */
  answer: (socket: net.Socket, line: string) => void;
  readonly asked: string[] = [];

  constructor(
    answer: (socket: net.Socket, line: string) => void,
    greet: (socket: net.Socket) => void = () => {},
  ) {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), "omni-"));
    this.socketPath = path.join(dir, "d.sock");
    this.answer = answer;
    this.#server = net.createServer((socket) => {
      this.#sockets.add(socket);
      let rest = "";
      socket.on("error", () => {}); // a client that went
      socket.on("close", () => this.#sockets.delete(socket));
      greet(socket);
      socket.on("data", (chunk) => {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
          this.asked.push(JSON.parse(line).op);
          this.answer(socket, line);
        }
      });
    });
    onTestFinished(() => {
      this.hangUp();
      this.#server.close();
      fs.rmSync(dir, { recursive: true, force: true });
    });
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(this.socketPath, resolve));
    return this;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  /** Ends every connection; whoever comes back is served again. */
  hangUp(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Goes away: hangs up and listens no more. */
  async goAway(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.hangUp();
    await closed;
  }
}

/** Collects values, and lets a test wait until there are so many. */
export class Seen<T> {
  readonly values: T[] = [];
  #waiting: { count: number; resolve: () => void }[] = [];

  readonly add = (value: T): void => {
    this.values.push(value);
    for (const { count, resolve } of this.#waiting) if (this.values.length >= count) resolve();
  };

  async first(count: number): Promise<T[]> {
    if (this.values.length < count)
      await new Promise<void>((resolve) => this.#waiting.push({ count, resolve }));
    return this.values.slice(0, count);
  }
}

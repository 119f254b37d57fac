import type { Socket } from "node:net";
import { type Clock, wait } from "../platform/clock.ts";
import { Connection } from "./connection.ts";
import { describeBug, type Log } from "./log.ts";
import { errorLine } from "./replies.ts";
import type { Router } from "./router.ts";

/**
 * Clients at once: hundreds of times what a busy machine has, and few enough that they fit into
 * the usual limit of open files and that one runaway client cannot take the daemon's memory.
 */
const MAX_CONNECTIONS = 1024;

/** Bodies of all clients together: several of the largest, far less than a machine has. */
const MAX_BODIES_BYTES = 256 * 1024 * 1024;

export type ServerOptions = {
  route: Router;
  clock: Clock;
  log: Log;
  maxConnections?: number;
  maxBodiesBytes?: number;
};

/** Serves every client that is accepted until it drains. */
export class Server {
  readonly #options: ServerOptions;
  readonly #maxConnections: number;
  readonly #bodies: { bytes: number; readonly max: number };
  readonly #connections = new Set<Connection>();
  readonly #empty = new AbortController();
  #draining = false;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#bodies = { bytes: 0, max: options.maxBodiesBytes ?? MAX_BODIES_BYTES };
    this.#maxConnections = options.maxConnections ?? MAX_CONNECTIONS;
  }

  accept(socket: Socket): void {
    if (this.#draining || this.#connections.size >= this.#maxConnections) {
      socket.on("error", () => {}); // it is being turned away
      socket.end(errorLine(this.#draining ? "the daemon stops" : "too many connections"));
      socket.destroySoon();
      return;
    }
    const { route, clock, log } = this.#options;
    const connection = new Connection(socket, {
      route,
      clock,
      bodies: this.#bodies,
      onBug: (error) => log("error", `A request failed: ${describeBug(error)}`),
    });
    this.#connections.add(connection);
    socket.once("close", () => {
      this.#connections.delete(connection);
      if (this.#draining && this.#connections.size === 0) this.#empty.abort();
    });
  }

  /** Lets replies in flight finish, ends the rest, and destroys what is left after `limitMs`. */
  async drain(limitMs: number): Promise<void> {
    this.#draining = true;
    for (const connection of this.#connections) connection.drain();
    if (this.#connections.size > 0) await wait(this.#options.clock, limitMs, this.#empty.signal);
    for (const connection of this.#connections) connection.destroy();
  }
}

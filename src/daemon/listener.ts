import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { ToolError } from "../core/protocol/errors.ts";
import { socketPathLimit } from "../platform/paths.ts";

/** A name is taken only by a process that was killed between two system calls. */
const MAX_NAMES = 50;

/** Sockets bound by this process, so that no temporary name is used twice. */
let bound = 0;

/** A listening socket, 0600 from birth, which keeps its connections until somebody serves them. */
export class Listener {
  /** The name that it was bound under, and that goes when it closes. */
  readonly boundPath: string;
  readonly #server: net.Server;
  readonly #identity: string;
  #waiting: net.Socket[] = [];
  #onConnection: ((socket: net.Socket) => void) | undefined;

  private constructor(server: net.Server, boundPath: string) {
    this.boundPath = boundPath;
    this.#server = server;
    server.on("connection", (socket) => {
      if (this.#onConnection) return this.#onConnection(socket);
      socket.on("error", () => {}); // a client that did not wait
      this.#waiting.push(socket);
    });
    fs.chmodSync(boundPath, 0o600); // where a default ACL of the directory overrules the mask
    this.#identity = identityOf(fs.lstatSync(boundPath, { bigint: true }));
  }

  /**
   * Listens under a temporary name in the directory of `socketPath`.
   *
   * @throws ToolError `daemonStartFailed` when the system refuses.
   */
  static async beside(socketPath: string, platform: NodeJS.Platform): Promise<Listener> {
    for (let tries = 0; tries < MAX_NAMES; tries++) {
      const name = temporaryName(socketPath, platform);
      if (name === socketPath) continue;
      const server = net.createServer({ allowHalfOpen: true });
      const error = await listen(server, name);
      if (!error) return new Listener(server, name);
      if (error.code !== "EADDRINUSE")
        throw new ToolError(
          "daemonStartFailed",
          `Cannot listen at ${socketPath}: ${error.message}`,
          { cause: error },
        );
    }
    throw new ToolError("daemonStartFailed", `Cannot listen at ${socketPath}: no name is free`);
  }

  serve(onConnection: (socket: net.Socket) => void): void {
    this.#onConnection = onConnection;
    for (const socket of this.#waiting.splice(0)) onConnection(socket);
  }

  /** Tells whether this is the file of this socket, under whatever name; true only while open. */
  isAt(file: fs.BigIntStats): boolean {
    return identityOf(file) === this.#identity;
  }

  /** Stops listening; connections that are served live on. */
  close(): void {
    for (const socket of this.#waiting.splice(0)) socket.destroy();
    this.#server.close();
  }
}

/** Resolves with the error that listening ended in, if any. */
function listen(server: net.Server, name: string): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    server.once("listening", () => resolve(undefined));
    server.once("error", resolve);
    // The file is created by this very call, so the mask is in force for it and nothing else.
    const mask = process.umask(0o177);
    try {
      server.listen(name);
    } finally {
      process.umask(mask);
    }
  });
}

/** Short, and shortened further where the path of the socket itself leaves no room. */
function temporaryName(socketPath: string, platform: NodeJS.Platform): string {
  const dir = path.dirname(socketPath);
  const room = socketPathLimit(platform) - Buffer.byteLength(path.join(dir, "x")) + 1;
  const name = `.s${process.pid.toString(36)}-${(bound++).toString(36)}`;
  return path.join(dir, name.slice(-room));
}

const identityOf = ({ dev, ino }: fs.BigIntStats) => `${dev}:${ino}`;

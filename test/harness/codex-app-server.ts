import { mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { createServer, type Server } from "node:http";
import net from "node:net";
import path from "node:path";
import { type WebSocket, WebSocketServer } from "ws";

export const SOCKET = path.join("app-server-control", "app-server-control.sock");

type Received = { id?: number; method: string; params?: Record<string, unknown> };

/** What a server does wrong: it leaves the upgrade or all questions unanswered, or says this instead. */
type Fault = "no upgrade" | "no answers" | "refusals" | { says: string };

export type FakeCodexServerOptions = {
  /** Codex's home, where the link to the server's socket is. */
  home: string;
  /** The folder of the socket itself. */
  folder: string;
  fault?: Fault;
  pageSize?: number;
};

let started = 0;

/** A fake of the server that Codex's terminals share. It tells all its clients what it is made to. */
export class FakeCodexServer {
  readonly threads = new Map<string, Record<string, unknown>>();
  readonly received: Received[] = [];
  /** What clients said goodbye with. */
  readonly goodbyes: number[] = [];
  /** How often somebody connected, whatever came of it. */
  connections = 0;
  fault: Fault | undefined;
  readonly socketPath: string;
  readonly #options: FakeCodexServerOptions;
  readonly #link: string;
  #listener: Server | net.Server | undefined;
  readonly #sockets = new Set<net.Socket>();
  readonly #clients = new Set<WebSocket>();
  #waiting: (() => void)[] = [];

  constructor(options: FakeCodexServerOptions) {
    started += 1;
    this.#options = options;
    this.fault = options.fault;
    this.socketPath = path.join(options.folder, `${started}.sock`);
    this.#link = path.join(options.home, SOCKET);
  }

  /** How many clients are connected. */
  get clients(): number {
    return this.#clients.size;
  }

  /** Listens, and links to that, as Codex does: the link is there first. */
  async start(): Promise<this> {
    this.link();
    mkdirSync(path.dirname(this.socketPath), { recursive: true });
    const listener = typeof this.fault === "object" ? this.#sayer(this.fault.says) : this.#server();
    listener.on("connection", (socket: net.Socket) => {
      this.#sockets.add(socket.on("error", () => {}));
      this.connections += 1;
      this.#news();
    });
    await new Promise<void>((resolve) => listener.listen(this.socketPath, resolve));
    this.#listener = listener;
    return this;
  }

  /** Makes the home's link lead here. */
  link(): void {
    mkdirSync(path.dirname(this.#link), { recursive: true });
    rmSync(this.#link, { force: true });
    symlinkSync(this.socketPath, this.#link);
  }

  /** Holds a thread, and tells of it if it is new. */
  open(id: string, more: object = {}): void {
    this.threads.set(id, aThread(id, more));
    this.tell("thread/started", { thread: this.threads.get(id) });
  }

  /** Changes what a thread does, and tells of it. */
  status(threadId: string, status: { type: string; activeFlags?: string[] }): void {
    Object.assign(this.threads.get(threadId) ?? {}, { status });
    this.tell("thread/status/changed", { threadId, status });
  }

  closeThread(threadId: string): void {
    this.threads.delete(threadId);
    this.tell("thread/status/changed", { threadId, status: { type: "notLoaded" } });
    this.tell("thread/closed", { threadId });
  }

  /** Tells or, with an id, asks every client. */
  tell(method: string, params: object, id?: number): void {
    const more = id === undefined ? { emittedAtMs: Date.now() } : { id };
    this.say(JSON.stringify({ method, params, ...more }));
  }

  say(text: string): void {
    for (const client of this.#clients) client.send(text);
  }

  /** Goes like Codex on SIGTERM: nothing stays behind. */
  async stop(): Promise<void> {
    rmSync(this.#link, { force: true });
    await this.#goAway();
    rmSync(this.socketPath, { force: true });
  }

  /** Goes like a process that is killed: link and socket stay. */
  async kill(): Promise<void> {
    const kept = `${this.socketPath}.kept`;
    renameSync(this.socketPath, kept); // Node would remove it
    await this.#goAway();
    renameSync(kept, this.socketPath);
  }

  /** Resolves once `check` holds, now or after something came from a client. */
  async until(what: string, check: () => boolean): Promise<void> {
    const deadline = Date.now() + 15_000;
    while (!check()) {
      const left = deadline - Date.now();
      if (left <= 0) throw new Error(`No ${what} after ${this.received.map((it) => it.method)}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  #server(): Server {
    const server = createServer();
    const upgrades = new WebSocketServer({ noServer: true });
    server.on("upgrade", (request, socket, head) => {
      if (this.fault === "no upgrade") return;
      upgrades.handleUpgrade(request, socket, head, (client) => this.#take(client));
    });
    return server;
  }

  #sayer(text: string): net.Server {
    return net.createServer((socket) => socket.write(text));
  }

  #take(client: WebSocket): void {
    client.on("message", (data) => {
      const message: Received = JSON.parse(data.toString());
      this.received.push(message);
      // Nobody is told anything before they said who they are.
      if (message.method === "initialize") this.#clients.add(client);
      const isQuestion = message.id !== undefined && this.fault !== "no answers";
      if (isQuestion) client.send(JSON.stringify({ id: message.id, ...this.#answer(message) }));
      this.#news();
    });
    client.on("close", (code) => {
      this.#clients.delete(client);
      this.goodbyes.push(code);
      this.#news();
    });
  }

  #answer({ method, params = {} }: Received): object {
    const refused = { error: { code: -32600, message: "no" } };
    if (this.fault === "refusals") return refused;
    switch (method) {
      case "initialize":
        return { result: { userAgent: "codex-tui/0.171.0" } };
      case "thread/loaded/list": {
        const ids = [...this.threads.keys()];
        const { pageSize = ids.length } = this.#options;
        const from = Number(params.cursor ?? 0);
        const next = from + pageSize;
        const nextCursor = next < ids.length ? String(next) : null;
        return { result: { data: ids.slice(from, next), nextCursor } };
      }
      case "thread/read": {
        const thread = this.threads.get(String(params.threadId));
        return thread ? { result: { thread } } : refused;
      }
      default:
        return refused;
    }
  }

  async #goAway(): Promise<void> {
    const listener = this.#listener;
    if (!listener) return;
    this.#listener = undefined;
    const closed = new Promise((resolve) => listener.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #news(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

/** A thread as 0.171.0 describes it, as far as anybody here looks. */
export function aThread(id: string, more: object = {}): Record<string, unknown> {
  return {
    id,
    sessionId: id,
    forkedFromId: null,
    parentThreadId: null,
    preview: "what the user asked first",
    ephemeral: false,
    model: "gpt-5.4",
    status: { type: "idle" },
    path: `/home/user/.codex/sessions/rollout-${id}.jsonl`,
    cwd: "/w/app",
    source: "vscode",
    threadSource: "user",
    name: null,
    turns: [],
    ...more,
  };
}

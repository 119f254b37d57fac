import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import path from "node:path";
import { readLoaded, readMessage, readThread } from "../../core/agents/codex/app-server.ts";
import { LoadedThreads } from "../../core/agents/codex/loaded-threads.ts";
import { HEARTBEAT_MS, MAX_SESSIONS } from "../../core/protocol/limits.ts";
import type { Report } from "../../core/protocol/report.ts";
import { version } from "../../core/protocol/version.ts";
import { wait } from "../../platform/clock.ts";
import { FolderWatch } from "../../platform/folder-watch.ts";
import { JsonRpcClient, type JsonRpcEnd } from "../../platform/json-rpc.ts";
import { Rounds } from "../../platform/rounds.ts";
import type { Feed, FeedPort } from "../feed.ts";

/** A server that comes where its folder cannot be watched is found at the latest after this. */
const LOOK_EVERY_MS = 5000;

/** The first look waits this long for a server, which on a busy machine answers in far less. */
const FIRST_ANSWERS_MS = 1000;

/** A server that has not answered after this long hangs. */
const ANSWER_MS = 5000;

/** A server that fails is left alone for longer each time, up to the second of these. */
const FIRST_PAUSE_MS = 500;
const LAST_PAUSE_MS = 10_000;

/** A connection that held this long was no failure. */
const STEADY_MS = 10_000;

/** Threads come with their first prompt, which may be as long as a model can read; nothing is longer. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

/**
 * Who we say we are. The name of its first client goes into every thread that the server makes, that
 * of its newest one into every request to the model: all but a few names that Codex keeps for clients
 * that are not to be noticed. This one its own program uses to ask whether the server is up.
 */
const CLIENT_INFO = { name: "codex_app_server_daemon", title: "omni-dev", version };

export type CodexAppServerOptions = {
  /** Codex's homes. */
  homes: readonly string[];
  /** Whose servers may be asked. */
  uid: number;
};

/**
 * Codex's shared servers, one for each home: what each of their threads does, exactly. We ask only
 * which threads are loaded and what they are, and hear what a server tells everybody. We never take
 * part in a thread, and answer nothing that we are asked.
 */
export function codexAppServer({ homes, uid }: CodexAppServerOptions): Feed {
  return {
    name: "codex-app-server",
    run: async (port) => {
      const stop = new AbortController();
      const signal = AbortSignal.any([port.signal, stop.signal]);
      const problems = new Map<string, string | undefined>();
      const clients = homes.map((home) => {
        const health = (problem: string | undefined) => {
          problems.set(home, problem);
          port.health([...problems.values()].find((it) => it !== undefined));
        };
        return new ServerClient(home, uid, { ...port, health, signal });
      });
      const runs = clients.map((client) => client.run());
      void Promise.all(clients.map((client) => client.ready)).then(port.ready);
      try {
        await Promise.all(runs);
      } finally {
        stop.abort();
        await Promise.allSettled(runs);
      }
    },
  };
}

/** All that is ever said to a server. */
type Talk = JsonRpcClient<"initialize" | "thread/loaded/list" | "thread/read", "initialized">;

/** A socket that may lead to a server; another one at the same path has another identity. */
type Found = { path: string; identity: string };

/** One home's server, whenever there is one. */
class ServerClient {
  /** The first look is over, or has taken long enough. */
  readonly ready: Promise<void>;
  readonly #link: string;
  readonly #uid: number;
  readonly #port: FeedPort;
  readonly #threads = new LoadedThreads();
  readonly #rounds: Rounds;
  readonly #watch: FolderWatch;
  #setReady = () => {};
  /** The link, and what it leads to. */
  #places: string[] = [];
  #current: { found: Found; talk: Talk; over: Promise<void> } | undefined;
  #isSubscribed = false;
  /** Something may have changed while there was a connection. */
  #hasMissed = false;
  /** The server that failed last, how often in a row, and whether it is left alone for now. */
  #failing: { identity: string; times: number; isResting: boolean } | undefined;
  #problem: string | undefined;
  #bug: { error: unknown } | undefined;
  /** Lets a bug end the feed, wherever it shows. */
  readonly #rise = (error: unknown) => {
    this.#bug ??= { error };
    this.#rounds.poke();
  };

  constructor(home: string, uid: number, port: FeedPort) {
    this.#link = path.join(home, "app-server-control", "app-server-control.sock");
    this.#uid = uid;
    this.#port = port;
    this.#rounds = new Rounds({ clock: port.clock });
    this.#watch = new FolderWatch((folder, name) => {
      // Watched is the nearest folder that exists: a busy one, maybe.
      const changed = name === undefined ? folder : path.join(folder, name);
      const isOnTheWay = (place: string) => place === changed || place.startsWith(`${changed}/`);
      if (this.#places.some(isOnTheWay)) this.#rounds.poke();
    });
    this.ready = new Promise((resolve) => {
      this.#setReady = resolve;
    });
  }

  async run(): Promise<void> {
    const { clock, signal } = this.#port;
    clock.after(FIRST_ANSWERS_MS, this.#setReady, signal);
    try {
      await this.#rounds.run(LOOK_EVERY_MS, async () => this.#look(), signal);
    } finally {
      this.#setReady();
      this.#watch.close();
      this.#current?.talk.end();
      await this.#current?.over;
    }
  }

  #look(): void {
    if (this.#bug) throw this.#bug.error;
    const found = this.#find();
    this.#watch.ensure(this.#places.map((place) => path.dirname(place)));
    if (this.#current) {
      this.#hasMissed = true;
      // Another server took its place; the old one may live on, where nobody finds it.
      if (found && found.identity !== this.#current.found.identity) this.#current.talk.end();
    } else if (found && !(this.#failing?.isResting && this.#failing.identity === found.identity)) {
      this.#hasMissed = false;
      this.#follow(found);
    } else {
      if (!found) this.#report(this.#threads.lose());
      this.#setReady();
    }
    this.#tellHealth();
  }

  /** Finds the socket. One that belongs to somebody else is not asked: it could be anything. */
  #find(): Found | undefined {
    this.#places = [this.#link];
    try {
      const target = readlinkSync(this.#link);
      this.#places.push(path.resolve(path.dirname(this.#link), target));
    } catch {} // not there, or no link
    try {
      const real = realpathSync(this.#link);
      const stats = lstatSync(real);
      if (!stats.isSocket()) return undefined;
      const found = { path: real, identity: `${stats.dev}:${stats.ino}:${stats.mtimeMs}` };
      if (stats.uid === this.#uid) return found;
      this.#problem = cannotFollow(found, "it belongs to another user");
    } catch {
      if (!this.#current) this.#problem = undefined; // no server, or one that left its link behind
    }
    return undefined;
  }

  #follow(found: Found): void {
    const { clock } = this.#port;
    const beganAt = clock.now();
    const talk: Talk = new JsonRpcClient({
      socketPath: found.path,
      maxMessageBytes: MAX_MESSAGE_BYTES,
      answerMs: ANSWER_MS,
      onMessage: (message) => this.#hear(talk, message).catch(this.#rise),
      clock,
    });
    const over = this.#converse(talk).then(async (isRenewal) => {
      talk.end();
      const end = await talk.over;
      this.#takeEnd(found, end, isRenewal, clock.now() - beganAt);
    });
    this.#current = { found, talk, over: over.catch(this.#rise) };
  }

  async #hear(talk: Talk, told: unknown): Promise<void> {
    const message = readMessage(told);
    if (message?.kind === "subscribers_only") this.#isSubscribed = true;
    else if (message) {
      this.#report(this.#threads.take(message, this.#port.clock.now()));
      await this.#readUnread(talk);
    }
  }

  /** Talks to the server until that is over. Returns whether to begin anew at once. */
  async #converse(talk: Talk): Promise<boolean> {
    const { clock } = this.#port;
    if (!(await talk.opened)) return false;
    const welcome = await talk.ask("initialize", { clientInfo: CLIENT_INFO });
    if (welcome === undefined) talk.end("it refuses to be asked");
    talk.tell("initialized");
    this.#threads.renew();
    this.#isSubscribed = false;
    while (await this.#sync(talk)) {
      this.#problem = undefined;
      this.#tellHealth();
      this.#setReady();
      await wait(clock, HEARTBEAT_MS, talk.signal);
      // Whoever is connected when a subagent starts becomes a subscriber of its thread, which then
      // stays loaded for as long as they are. Whoever comes anew is none.
      if (this.#isSubscribed) return !talk.signal.aborted;
    }
    return false;
  }

  /** Brings what is held up to date, and repeats it. Returns whether the server still answers. */
  async #sync(talk: Talk): Promise<boolean> {
    const { clock } = this.#port;
    const askedAt = this.#threads.mark();
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const page = readLoaded(await talk.ask("thread/loaded/list", cursor ? { cursor } : {}));
      if (!page) talk.end("it does not tell its threads");
      ids.push(...(page?.ids ?? []));
      cursor = page?.ids.length ? page.cursor : undefined;
    } while (cursor !== undefined && ids.length < MAX_SESSIONS);
    if (talk.signal.aborted) return false;
    if (cursor === undefined) this.#report(this.#threads.takeList(ids, askedAt, clock.now()));
    this.#report(this.#threads.repeat(askedAt, clock.now()));
    await this.#readUnread(talk);
    return !talk.signal.aborted;
  }

  async #readUnread(talk: Talk): Promise<void> {
    for (const id of this.#threads.takeUnread()) {
      const askedAt = this.#threads.mark();
      const answer = await talk.ask("thread/read", { threadId: id, includeTurns: false });
      const thread = readThread((answer as { thread?: unknown } | null | undefined)?.thread);
      if (!thread) this.#threads.giveUp(id);
      else this.#report(this.#threads.takeRead(thread, askedAt, this.#port.clock.now()));
    }
  }

  #takeEnd(found: Found, end: JsonRpcEnd, isRenewal: boolean, lastedMs: number): void {
    this.#current = undefined;
    if (this.#port.signal.aborted) return;
    if (isRenewal) {
      this.#rounds.poke();
      return;
    }
    this.#report(this.#threads.lose());
    this.#problem = end.problem && cannotFollow(found, end.problem);
    this.#tellHealth();
    this.#setReady();
    if (!end.isAbsent) this.#rest(found, lastedMs);
    if (!end.isAbsent || this.#hasMissed) this.#rounds.poke();
  }

  /** Leaves a server that failed alone for a while; another one in its place is followed at once. */
  #rest({ identity }: Found, lastedMs: number): void {
    const { clock, signal } = this.#port;
    const isAgain = this.#failing?.identity === identity && lastedMs < STEADY_MS;
    const times = isAgain && this.#failing ? this.#failing.times + 1 : 0;
    const failing = { identity, times, isResting: true };
    this.#failing = failing;
    const goOn = () => {
      failing.isResting = false;
      this.#rounds.poke();
    };
    clock.after(Math.min(FIRST_PAUSE_MS * 2 ** times, LAST_PAUSE_MS), goOn, signal);
  }

  #report(reports: readonly Report[]): void {
    for (const report of reports) this.#port.report(report);
  }

  #tellHealth(): void {
    this.#port.health(this.#problem ?? this.#watch.problem());
  }
}

const cannotFollow = (found: Found, why: string) =>
  `Cannot follow Codex's server at ${found.path}: ${why}`;

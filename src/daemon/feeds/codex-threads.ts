import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { codexProcess } from "../../core/agents/codex/process.ts";
import {
  type RolloutMeta,
  readRolloutMeta,
  threadOfLock,
  threadOfRollout,
} from "../../core/agents/codex/rollout.ts";
import { RECENT_FILE_MS } from "../../core/protocol/limits.ts";
import type { SessionLock } from "../../core/protocol/report.ts";
import { parseTime } from "../../core/protocol/time.ts";
import type { FileLocks, LockCheck } from "../../platform/file-locks.ts";
import { readFirstLine } from "../../platform/first-line.ts";
import { FolderWatch } from "../../platform/folder-watch.ts";
import { type FileLook, GrowingFiles } from "../../platform/growing-files.ts";
import type { ProcessTable } from "../../platform/process-table.ts";
import { Rounds } from "../../platform/rounds.ts";
import type { Feed, FeedPort } from "../feed.ts";

/** How often a session that merely goes on is told of again. */
const REPEAT_MS = 60_000;

/**
 * A thread without a rollout is one that was not prompted yet, or a subagent's, whose rollout is
 * about to come: this much later it would be there.
 */
const ALONE_MS = 1500;

/** `codex archive` and its like take the lock of a thread that nobody has open, for a tenth of a second. */
const SETTLE_MS = 300;

/** The first line holds the model's instructions, which a user may have written pages of. */
const MAX_FIRST_LINE_BYTES = 8 * 1024 * 1024;

/** The lock of a thread that a process has open. */
type Held = {
  file: string;
  since: number;
  pid?: number;
  /** A look is due when it will have been held for long enough. */
  isAwaited?: true;
  /** When it was last told of, and whether its rollout was known then. */
  toldAt?: number;
  toldRollout?: boolean;
};

type Rollout = { file: string; look: FileLook; meta?: RolloutMeta; toldAt?: number };

export type CodexThreadsOptions = {
  /** Codex's homes. */
  homes: readonly string[];
  locks: FileLocks;
  table: ProcessTable;
};

/**
 * Codex's threads: which ones a process has open, by the locks in `thread-writer-locks`, and what
 * they are, by the first lines of the rollouts in `sessions/<year>/<month>/<day>`. No other line is
 * read. Where Codex keeps no locks, or nothing can tell of them, recent rollouts alone speak.
 */
export function codexThreads(options: CodexThreadsOptions): Feed {
  return { name: "codex-threads", run: (port) => new ThreadsFeed(options, port).run() };
}

class ThreadsFeed {
  readonly #options: CodexThreadsOptions;
  readonly #port: FeedPort;
  readonly #rollouts = new Map<string, Rollout>();
  readonly #held = new Map<string, Held>();
  /** Threads whose rollout was put away while they were open: over, whatever still holds them. */
  readonly #away = new Set<string>();
  readonly #rounds: Rounds;
  readonly #watch: FolderWatch;
  #hasLooked = false;
  /** Whether the locks are there and can be looked at. */
  #locksTell = false;
  #rolloutsProblem: string | undefined;

  constructor(options: CodexThreadsOptions, port: FeedPort) {
    this.#options = options;
    this.#port = port;
    this.#rounds = new Rounds({ clock: port.clock });
    this.#watch = new FolderWatch(() => this.#rounds.poke());
  }

  async run(): Promise<void> {
    const { clock, signal } = this.#port;
    const files = new GrowingFiles({
      roots: this.#options.homes.map((home) => path.join(home, "sessions")),
      depth: 3,
      isWanted: (name) => threadOfRollout(name) !== undefined,
      // Where locks tell, a rollout's growth says nothing new.
      isHot: ({ mtimeMs }) => !this.#locksTell && this.#isRecent(mtimeMs),
      onLook: (file, look, before) => this.#takeRollout(file, look, before),
      onGone: (file) => this.#takeGone(file),
      onRound: (problem) => {
        this.#rolloutsProblem = problem;
        this.#rounds.poke();
        first.resolve();
      },
    });
    const first = gate();
    const ended = files.run(clock, signal);
    await Promise.race([first.opened, ended]);
    await this.#rounds.run(this.#options.locks.lookEveryMs, () => this.#lookAtLocks(), signal);
    await ended;
    this.#watch.close();
  }

  #takeRollout(file: string, look: FileLook, before: FileLook | undefined): void {
    const id = threadOfRollout(path.basename(file));
    if (id === undefined) return;
    const known = this.#rollouts.get(id);
    const rollout = known?.file === file ? Object.assign(known, { look }) : { file, look };
    this.#rollouts.set(id, rollout);
    if (!before) this.#away.delete(id);
    if (this.#held.has(id)) this.#rounds.poke();
    const isGrowth = before !== undefined && look.size > before.size;
    if (this.#hasLooked && isGrowth && !this.#locksTell) this.#tellRecent(id, rollout);
  }

  #takeGone(file: string): void {
    const id = threadOfRollout(path.basename(file));
    const rollout = id === undefined ? undefined : this.#rollouts.get(id);
    if (id === undefined || rollout?.file !== file) return;
    this.#rollouts.delete(id);
    const held = this.#held.get(id);
    if (held) this.#away.add(id);
    if (held?.toldAt === undefined && rollout.toldAt === undefined) return;
    if (held) this.#port.report({ kind: "lock_freed", sessionId: id });
    this.#port.report({ kind: "end", ending: { session_id: id, reason: "archived" } });
  }

  async #lookAtLocks(): Promise<void> {
    const folders = this.#options.homes.map((home) => path.join(home, "thread-writer-locks"));
    const problems: string[] = [];
    const files = new Map([...this.#held].map(([id, { file }]) => [file, id]));
    let hasFolder = false;
    for (const folder of folders) {
      try {
        for (const name of readdirSync(folder)) {
          const id = threadOfLock(name);
          if (id !== undefined) files.set(path.join(folder, name), id);
        }
        hasFolder = true;
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        if (code !== "ENOENT" && code !== "ENOTDIR") problems.push(message);
      }
    }
    const checks = await this.#options.locks.check([...files.keys()]);
    this.#locksTell = hasFolder && (files.size === 0 || checks.size > 0);
    for (const [file, id] of files) {
      const check = checks.get(file);
      if (check?.held) await this.#takeHeld(id, file, check);
      else if (check && this.#held.get(id)?.file === file) this.#takeFree(id);
    }
    if (!this.#locksTell) for (const [id, rollout] of this.#rollouts) this.#tellRecent(id, rollout);
    this.#hasLooked = true;
    this.#watch.ensure(folders);
    this.#port.health(this.#rolloutsProblem ?? problems[0] ?? this.#watch.problem());
    this.#port.ready();
  }

  async #takeHeld(id: string, file: string, { pid }: LockCheck): Promise<void> {
    const known = this.#held.get(id);
    const isSame = known?.file === file && known.pid === pid;
    const held: Held = isSame ? known : { file, since: this.#heldSince(id, file), ...given(pid) };
    this.#held.set(id, held);
    if (!isSame) this.#away.delete(id);
    const rollout = this.#rollouts.get(id);
    const now = this.#port.clock.now();
    const isTold =
      held.toldAt !== undefined &&
      now - held.toldAt < REPEAT_MS &&
      held.toldRollout === (rollout !== undefined);
    if (isTold || this.#away.has(id)) return;
    const left = held.since + (rollout ? SETTLE_MS : ALONE_MS) - now;
    if (left > 0) {
      if (!held.isAwaited)
        this.#port.clock.after(left, () => this.#lookAgain(held), this.#port.signal);
      held.isAwaited = true;
      return;
    }
    const meta = rollout && this.#metaOf(rollout);
    if (rollout && (!meta || meta.isAside)) return;
    const lock = await this.#describe(id, held, rollout, meta);
    held.toldAt = now;
    held.toldRollout = rollout !== undefined;
    this.#port.report({ kind: "lock", lock });
  }

  #lookAgain(held: Held): void {
    delete held.isAwaited;
    this.#rounds.poke();
  }

  /** What was held before the first look is as old as its files are. */
  #heldSince(id: string, file: string): number {
    const now = this.#port.clock.now();
    if (this.#hasLooked) return now;
    const rolloutAt = this.#rollouts.get(id)?.look.mtimeMs ?? 0;
    const lockAt = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? now;
    return Math.min(Math.max(rolloutAt, lockAt), now);
  }

  async #describe(
    id: string,
    { since, pid }: Held,
    rollout: Rollout | undefined,
    meta: RolloutMeta | undefined,
  ): Promise<SessionLock> {
    const { table } = this.#options;
    const args = pid === undefined ? undefined : await table.argsOf(pid);
    const kind = args && codexProcess(args);
    const isOwn = pid !== undefined && (kind === "tui" || kind === "exec");
    const cwd = meta?.cwd ?? (isOwn ? table.cwdOf(pid) : undefined);
    const startedAt = meta?.startedAt === undefined ? undefined : parseTime(meta.startedAt);
    return {
      sessionId: id,
      agent: "codex",
      at: since,
      isShared: kind === "server",
      headless: meta?.headless ?? kind === "exec",
      ...(isOwn ? { pid } : {}),
      ...(startedAt === undefined ? {} : { startedAt }),
      fields: {
        ...(cwd === undefined ? {} : { cwd }),
        ...(rollout ? { transcript_path: rollout.file } : {}),
      },
    };
  }

  #takeFree(id: string): void {
    const wasTold = this.#held.get(id)?.toldAt !== undefined && !this.#away.has(id);
    this.#held.delete(id);
    this.#away.delete(id);
    if (wasTold) this.#port.report({ kind: "lock_freed", sessionId: id });
  }

  /** Without locks: a rollout that was written to lately is a session that may be there. */
  #tellRecent(id: string, rollout: Rollout): void {
    const { mtimeMs } = rollout.look;
    const isNews = rollout.toldAt === undefined || mtimeMs - rollout.toldAt >= REPEAT_MS;
    if (!isNews || !this.#isRecent(mtimeMs)) return;
    const meta = this.#metaOf(rollout);
    if (!meta || meta.isAside) return;
    rollout.toldAt = mtimeMs;
    const { cwd, headless } = meta;
    const fields = { transcript_path: rollout.file, ...(cwd === undefined ? {} : { cwd }) };
    const event = "transcript_discovered";
    const signals = [{ kind: "discovered" }] as const;
    const told = { sessionId: id, agent: "codex", event, signals, fields, headless } as const;
    this.#port.report({ kind: "event", event: told, at: mtimeMs });
  }

  /** What a rollout's first line tells, once it is written. */
  #metaOf(rollout: Rollout): RolloutMeta | undefined {
    if (rollout.meta) return rollout.meta;
    try {
      const line = readFirstLine(rollout.file, MAX_FIRST_LINE_BYTES);
      const meta = line === undefined ? undefined : readRolloutMeta(line);
      if (meta) rollout.meta = meta;
      return meta;
    } catch {
      return undefined; // gone just now, or not ours to read: the next look tells
    }
  }

  #isRecent(at: number): boolean {
    return this.#port.clock.now() - at <= RECENT_FILE_MS;
  }
}

const given = (pid: number | undefined) => (pid === undefined ? {} : { pid });

function gate(): { opened: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const opened = new Promise<void>((done) => {
    resolve = done;
  });
  return { opened, resolve };
}

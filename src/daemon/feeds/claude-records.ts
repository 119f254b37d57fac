import { existsSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { type ClaudeRecord, parseRecord, reportOf } from "../../core/agents/claude/record.ts";
import { transcriptFolder } from "../../core/agents/claude/transcript.ts";
import { FolderWatch } from "../../platform/folder-watch.ts";
import type { ProcessTable } from "../../platform/process-table.ts";
import { Rounds } from "../../platform/rounds.ts";
import type { Feed, FeedPort } from "../feed.ts";

/** File events come within milliseconds; this is for those that get lost. */
const RESCAN_MS = 5000;

/** A record is a few hundred bytes; a file beyond this is something else. */
const MAX_RECORD_BYTES = 256 * 1024;

/** Only these: the `.key` files beside them are secrets of Claude's. */
const RECORD_NAME = /^[1-9]\d*\.json$/;

/** How much later than its process a record may say that it started, where only times can be compared. */
const START_SLACK_MS = 2000;

export type ClaudeRecordsOptions = {
  /** Claude's config folders, each with a `sessions` folder in it. */
  configDirs: readonly string[];
  projectsDirs: readonly string[];
  table: ProcessTable;
};

type Known = { signature: string; folder: string; record?: ClaudeRecord; isSettled: boolean };

/**
 * Claude Code's own process records, `sessions/<pid>.json`: what each of its processes does, as it
 * says itself. A record counts while its process lives with the start time that the record names.
 */
export function claudeRecords(options: ClaudeRecordsOptions): Feed {
  return { name: "claude-records", run: (port) => new RecordsFeed(options, port).run() };
}

class RecordsFeed {
  readonly #options: ClaudeRecordsOptions;
  readonly #port: FeedPort;
  readonly #folders: string[];
  readonly #known = new Map<string, Known>();
  readonly #problems = new Map<string, string>();
  readonly #transcripts = new Map<string, string>();

  constructor(options: ClaudeRecordsOptions, port: FeedPort) {
    this.#options = options;
    this.#port = port;
    this.#folders = options.configDirs.map((dir) => path.join(dir, "sessions"));
  }

  async run(): Promise<void> {
    const rounds = new Rounds({ clock: this.#port.clock });
    const watch = new FolderWatch(() => rounds.poke());
    const round = async () => {
      watch.ensure(this.#folders);
      await this.#scan();
      this.#port.health(this.#problems.values().next().value ?? watch.problem());
      this.#port.ready();
    };
    await rounds.run(RESCAN_MS, round, this.#port.signal);
    watch.close();
  }

  async #scan(): Promise<void> {
    for (const folder of this.#folders) {
      const names = this.#namesIn(folder);
      if (names === "unreadable") continue;
      for (const [file, known] of this.#known) {
        if (known.folder !== folder || names?.has(path.basename(file))) continue;
        this.#known.delete(file);
        const { record } = known;
        if (record)
          this.#port.report({
            kind: "record_gone",
            pid: record.pid,
            how: names ? "removed" : "lost",
          });
      }
      for (const name of names ?? []) this.#read(path.join(folder, name), folder);
    }
    await this.#settle();
  }

  #namesIn(folder: string): Set<string> | "unreadable" | undefined {
    try {
      const names = readdirSync(folder).filter((name) => RECORD_NAME.test(name));
      this.#problems.delete(folder);
      return new Set(names);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === "ENOENT" || code === "ENOTDIR") {
        this.#problems.delete(folder);
        return undefined;
      }
      this.#problems.set(folder, message);
      return "unreadable";
    }
  }

  #read(file: string, folder: string): void {
    try {
      // What is no plain file of its own could keep the reader waiting for ever.
      const stat = lstatSync(file);
      const { mtimeMs, size, ino } = stat;
      if (!stat.isFile()) return;
      const signature = `${mtimeMs} ${size} ${ino}`;
      const held = this.#known.get(file);
      if (held?.signature === signature || size > MAX_RECORD_BYTES) return;
      const record = parseRecord(readFileSync(file, "utf8"));
      // Torn: what was known stays, and without a new signature the next look reads it again.
      if (!record || `${record.pid}.json` !== path.basename(file)) return;
      this.#known.set(file, { signature, folder, record, isSettled: false });
    } catch {
      // It went between the look into the folder and the look at the file: the next look tells.
    }
  }

  /** Finds out for each new version of a record whether its process lives, and reports it. */
  async #settle(): Promise<void> {
    const open = [...this.#known.values()].filter((known) => !known.isSettled && known.record);
    if (open.length === 0) return;
    const pids = open.flatMap(({ record }) => (record && this.#isOurs(record) ? [record.pid] : []));
    const checks = await this.#options.table.check(pids);
    for (const known of open) {
      const { record } = known;
      if (!record) continue;
      const check = checks.get(record.pid);
      if (check === undefined) continue; // another system's pid, or it could not be checked
      known.isSettled = true;
      if (check === "gone" || !this.#isSame(record, check)) {
        const { sessionId, pid, statusAt } = record;
        this.#port.report({ kind: "record_stale", sessionId, pid, at: statusAt });
        continue;
      }
      const report = reportOf(record, check, this.#transcriptOf(record));
      this.#port.report({ kind: "record", record: report });
    }
  }

  /** A home that is shared with a container or another machine holds pids that mean nothing here. */
  #isOurs({ pidDomain }: ClaudeRecord): boolean {
    const { domain } = this.#options.table;
    return !domain || !pidDomain?.startsWith("linux:") || pidDomain === domain;
  }

  #isSame(record: ClaudeRecord, token: string): boolean {
    if (token === record.procStart) return true;
    const startedAt = this.#options.table.startedAt?.(token);
    return startedAt !== undefined && startedAt <= record.startedAt + START_SLACK_MS;
  }

  #transcriptOf({ sessionId, cwd }: ClaudeRecord): string | undefined {
    const held = this.#transcripts.get(sessionId);
    if (held || cwd === undefined) return held;
    for (const projects of this.#options.projectsDirs) {
      for (const folder of transcriptFolders(projects, cwd)) {
        const file = path.join(folder, `${sessionId}.jsonl`);
        if (!existsSync(file)) continue;
        this.#transcripts.set(sessionId, file);
        return file;
      }
    }
    return undefined;
  }
}

function transcriptFolders(projects: string, cwd: string): string[] {
  const { name, isPrefix } = transcriptFolder(cwd);
  if (!isPrefix) return [path.join(projects, name)];
  try {
    const names = readdirSync(projects).filter((found) => found.startsWith(name));
    return names.map((found) => path.join(projects, found));
  } catch {
    return []; // no transcripts at all yet
  }
}

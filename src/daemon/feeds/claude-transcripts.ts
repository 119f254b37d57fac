import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { setImmediate as breathe } from "node:timers/promises";
import { sessionOfTranscript } from "../../core/agents/claude/transcript.ts";
import { RECENT_FILE_MS } from "../../core/protocol/limits.ts";
import { FolderWatch } from "../../platform/folder-watch.ts";
import { Rounds } from "../../platform/rounds.ts";
import type { Feed, FeedPort } from "../feed.ts";

const RESCAN_MS = 5000;

/** An agent writes several lines a second while it answers; they are looked at together. */
const GATHER_MS = 100;

/** Folders watched at once, the most recently changed ones: the system's watches are limited. */
const MAX_WATCHED = 2048;

/** Files looked at before others get a turn: a look takes some microseconds. */
const FILES_A_TURN = 500;

/** Problems held at once; one is enough to say that something is wrong. */
const MAX_PROBLEMS = 100;

type Transcript = { size: number; mtimeMs: number };
type Project = { mtimeMs: number; files: Map<string, Transcript> };

/**
 * Claude Code's transcripts, `<projects>/<folder>/<session>.jsonl`: that a session exists, and that
 * its file grew. No line is ever read, and nothing below those folders is looked at.
 */
export function claudeTranscripts(options: { projectsDirs: readonly string[] }): Feed {
  return { name: "claude-transcripts", run: (port) => new TranscriptsFeed(options, port).run() };
}

class TranscriptsFeed {
  readonly #roots: readonly string[];
  readonly #port: FeedPort;
  readonly #projects = new Map<string, Project>();
  readonly #problems = new Map<string, string>();
  /** Folders in which something happened since the last look, with the names of the files. */
  readonly #touched = new Map<string, Set<string>>();
  #startedAt = 0;

  constructor(options: { projectsDirs: readonly string[] }, port: FeedPort) {
    this.#roots = options.projectsDirs;
    this.#port = port;
  }

  async run(): Promise<void> {
    this.#startedAt = this.#port.clock.now();
    const rounds = new Rounds({ clock: this.#port.clock, gatherMs: GATHER_MS });
    const watch = new FolderWatch((folder, name) => {
      this.#touched.set(folder, (this.#touched.get(folder) ?? new Set()).add(name ?? ""));
      rounds.poke();
    });
    let scannedAt = Number.NEGATIVE_INFINITY;
    const round = async () => {
      const isDue = performance.now() - scannedAt >= RESCAN_MS;
      if (!isDue && this.#lookAtTouched()) return;
      scannedAt = performance.now();
      await this.#scan();
      watch.ensure([...this.#roots, ...this.#liveliest()]);
      // A folder that came to be while it was not yet watched was looked at before the watch began.
      await this.#scan();
      this.#port.health(this.#problems.values().next().value ?? watch.problem());
      this.#port.ready();
    };
    await rounds.run(RESCAN_MS, round, this.#port.signal);
    watch.close();
  }

  /** Looks only where something happened; false when that is not enough, for a folder is new. */
  #lookAtTouched(): boolean {
    const touched = [...this.#touched];
    if (touched.some(([folder]) => !this.#projects.has(folder))) return false;
    this.#touched.clear();
    for (const [folder, names] of touched) this.#look(folder, names);
    return true;
  }

  async #scan(): Promise<void> {
    this.#problems.clear();
    const touched = new Map(this.#touched);
    this.#touched.clear();
    const found = new Set(this.#roots.flatMap((root) => this.#foldersIn(root)));
    for (const folder of this.#projects.keys())
      if (!found.has(folder)) this.#projects.delete(folder);
    let looked = 0;
    for (const folder of found) {
      looked += this.#look(folder, touched.get(folder));
      if (looked < FILES_A_TURN) continue;
      looked = 0;
      await breathe();
      if (this.#port.signal.aborted) return;
    }
  }

  #foldersIn(root: string): string[] {
    const entries = this.#try(root, () => readdirSync(root, { withFileTypes: true }));
    const folders = entries?.filter((entry) => entry.isDirectory() || entry.isSymbolicLink());
    return folders?.map((entry) => path.join(root, entry.name)) ?? [];
  }

  /** Looks at one folder; returns how many files that took. */
  #look(folder: string, touched: ReadonlySet<string> = new Set()): number {
    const mtimeMs = this.#try(folder, () => statSync(folder))?.mtimeMs;
    if (mtimeMs === undefined) return 0;
    const held = this.#projects.get(folder);
    // A new file changes the folder's time, growth does not: what may grow is looked at each time.
    if (held?.mtimeMs === mtimeMs) {
      const cold = [...touched].filter((name) => held.files.has(name));
      return this.#lookAt(folder, held, [...this.#hot(held), ...cold]);
    }
    const names = this.#try(folder, () => readdirSync(folder));
    if (!names) return 0;
    const files = names.filter((name) => sessionOfTranscript(name) !== undefined);
    const project = { mtimeMs, files: held?.files ?? new Map<string, Transcript>() };
    const present = new Set(files);
    for (const name of project.files.keys()) if (!present.has(name)) project.files.delete(name);
    this.#projects.set(folder, project);
    return this.#lookAt(folder, project, files);
  }

  #lookAt(folder: string, project: Project, names: Iterable<string>): number {
    let looked = 0;
    for (const name of names) {
      looked += 1;
      const file = path.join(folder, name);
      const { size, mtimeMs } = this.#try(file, () => statSync(file)) ?? {};
      if (size === undefined || mtimeMs === undefined) {
        // Not seen: the folder is looked at again as if it had changed.
        if (this.#problems.has(file)) project.mtimeMs = Number.NaN;
        continue;
      }
      const held = project.files.get(name);
      project.files.set(name, { size, mtimeMs });
      if (held ? size > held.size : this.#isRecent(mtimeMs)) {
        const isGrowth = held !== undefined || mtimeMs >= this.#startedAt;
        this.#report(file, isGrowth ? "transcript_grew" : "transcript_discovered", mtimeMs);
      }
    }
    return looked;
  }

  #report(file: string, event: "transcript_grew" | "transcript_discovered", at: number): void {
    const session_id = sessionOfTranscript(path.basename(file));
    if (session_id === undefined || !this.#isRecent(at)) return;
    this.#port.report({
      kind: "sighting",
      sighting: { session_id, event, transcript_path: file },
      at,
    });
  }

  *#hot(project: Project): Iterable<string> {
    for (const [name, { mtimeMs }] of project.files) if (this.#isRecent(mtimeMs)) yield name;
  }

  #isRecent(at: number): boolean {
    return this.#port.clock.now() - at <= RECENT_FILE_MS;
  }

  #liveliest(): string[] {
    const folders = [...this.#projects].sort(([, a], [, b]) => b.mtimeMs - a.mtimeMs);
    return folders.slice(0, MAX_WATCHED).map(([folder]) => folder);
  }

  /** Reads something of a path; what is not there is no problem, what cannot be read is one. */
  #try<T>(place: string, read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const isAbsent = code === "ENOENT" || code === "ENOTDIR";
      if (!isAbsent && this.#problems.size < MAX_PROBLEMS) this.#problems.set(place, message);
      return undefined;
    }
  }
}

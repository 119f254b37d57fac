import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { setImmediate as breathe } from "node:timers/promises";
import type { Clock } from "./clock.ts";
import { FolderWatch } from "./folder-watch.ts";
import { Rounds } from "./rounds.ts";

const RESCAN_MS = 5000;

/** An agent writes several lines a second while it answers; they are looked at together. */
const GATHER_MS = 100;

/** Folders watched at once, the most recently changed ones: the system's watches are limited. */
const MAX_WATCHED = 2048;

/** Files looked at before others get a turn: a look takes some microseconds. */
const FILES_A_TURN = 500;

/** Problems held at once; one is enough to say that something is wrong. */
const MAX_PROBLEMS = 100;

export type FileLook = { size: number; mtimeMs: number };

export type GrowingFilesOptions = {
  roots: readonly string[];
  /** How many folders down from a root the files lie. */
  depth: number;
  isWanted: (name: string) => boolean;
  /** Whether a file may still grow, so that each look is at it, too; the others are left to events. */
  isHot: (look: FileLook) => boolean;
  /** A file was looked at; `before` is what was seen last, absent for one that is new. */
  onLook: (file: string, look: FileLook, before: FileLook | undefined) => void;
  /** A file is no longer where it was. */
  onGone?: (file: string) => void;
  /** Everything has been looked at; `problem` is in words when something could not be read. */
  onRound: (problem: string | undefined) => void;
};

type Folder = { mtimeMs: number; files: Map<string, FileLook> };

/**
 * Follows the files in folders of folders, by their sizes alone: which there are, which grow, which
 * go. Nothing is opened. What the system's events miss, the next look finds.
 */
export class GrowingFiles {
  readonly #options: GrowingFilesOptions;
  readonly #folders = new Map<string, Folder>();
  /** Folders on the way to these, which new ones appear in. */
  #between: string[] = [];
  readonly #problems = new Map<string, string>();
  /** Folders in which something happened since the last look, with the names of the files. */
  readonly #touched = new Map<string, Set<string>>();

  constructor(options: GrowingFilesOptions) {
    this.#options = options;
  }

  async run(clock: Clock, signal: AbortSignal): Promise<void> {
    const rounds = new Rounds({ clock, gatherMs: GATHER_MS });
    const watch = new FolderWatch((folder, name) => {
      this.#touched.set(folder, (this.#touched.get(folder) ?? new Set()).add(name ?? ""));
      rounds.poke();
    });
    let scannedAt = Number.NEGATIVE_INFINITY;
    const round = async () => {
      const isDue = performance.now() - scannedAt >= RESCAN_MS;
      if (!isDue && this.#lookAtTouched()) return;
      scannedAt = performance.now();
      await this.#scan(signal);
      watch.ensure([...this.#between, ...this.#liveliest()]);
      // A folder that came to be while it was not yet watched was looked at before the watch began.
      await this.#scan(signal);
      this.#options.onRound(this.#problems.values().next().value ?? watch.problem());
    };
    await rounds.run(RESCAN_MS, round, signal);
    watch.close();
  }

  /** Looks only where something happened; false when that is not enough, for a folder is new. */
  #lookAtTouched(): boolean {
    const touched = [...this.#touched];
    if (touched.some(([folder]) => !this.#folders.has(folder))) return false;
    this.#touched.clear();
    for (const [folder, names] of touched) this.#look(folder, names);
    return true;
  }

  async #scan(signal: AbortSignal): Promise<void> {
    this.#problems.clear();
    const touched = new Map(this.#touched);
    this.#touched.clear();
    const found = this.#findFolders();
    for (const [folder, held] of this.#folders) {
      // One that cannot be read just now is not gone.
      if (found.has(folder) || this.#problems.size > 0) continue;
      this.#folders.delete(folder);
      for (const name of held.files.keys()) this.#options.onGone?.(path.join(folder, name));
    }
    let looked = 0;
    for (const folder of found) {
      looked += this.#look(folder, touched.get(folder));
      if (looked < FILES_A_TURN) continue;
      looked = 0;
      await breathe();
      if (signal.aborted) return;
    }
  }

  #findFolders(): Set<string> {
    let level = [...this.#options.roots];
    this.#between = [];
    for (let depth = 0; depth < this.#options.depth; depth += 1) {
      this.#between.push(...level);
      level = level.flatMap((folder) => this.#foldersIn(folder));
    }
    return new Set(level);
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
    const held = this.#folders.get(folder);
    // A new file changes the folder's time, growth does not: what may grow is looked at each time.
    if (held?.mtimeMs === mtimeMs) {
      const cold = [...touched].filter((name) => held.files.has(name));
      return this.#lookAt(folder, held, [...this.#hot(held), ...cold]);
    }
    const names = this.#try(folder, () => readdirSync(folder));
    if (!names) return 0;
    const files = names.filter((name) => this.#options.isWanted(name));
    const now = { mtimeMs, files: held?.files ?? new Map<string, FileLook>() };
    const present = new Set(files);
    for (const name of now.files.keys()) {
      if (present.has(name)) continue;
      now.files.delete(name);
      this.#options.onGone?.(path.join(folder, name));
    }
    this.#folders.set(folder, now);
    return this.#lookAt(folder, now, files);
  }

  #lookAt(folder: string, held: Folder, names: Iterable<string>): number {
    let looked = 0;
    for (const name of names) {
      looked += 1;
      const file = path.join(folder, name);
      const { size, mtimeMs } = this.#try(file, () => statSync(file)) ?? {};
      if (size === undefined || mtimeMs === undefined) {
        // Not seen: the folder is looked at again as if it had changed.
        if (this.#problems.has(file)) held.mtimeMs = Number.NaN;
        continue;
      }
      const before = held.files.get(name);
      held.files.set(name, { size, mtimeMs });
      this.#options.onLook(file, { size, mtimeMs }, before);
    }
    return looked;
  }

  *#hot(folder: Folder): Iterable<string> {
    for (const [name, look] of folder.files) if (this.#options.isHot(look)) yield name;
  }

  #liveliest(): string[] {
    const folders = [...this.#folders].sort(([, a], [, b]) => b.mtimeMs - a.mtimeMs);
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

import { type FSWatcher, statSync, watch } from "node:fs";
import path from "node:path";

/**
 * Tells when something in a set of folders changed.
 *
 * A folder that does not exist is waited for at its nearest existing ancestor; one that was deleted
 * and made anew is watched anew. Both are noticed at the next `ensure`. What cannot be watched is
 * only reported: whoever uses this looks around from time to time anyway.
 */
export class FolderWatch {
  readonly #onChange: (folder: string, name: string | undefined) => void;
  readonly #held = new Map<string, { identity: string; watcher: FSWatcher }>();
  readonly #failed = new Map<string, string>();

  constructor(onChange: (folder: string, name: string | undefined) => void) {
    this.#onChange = onChange;
  }

  /** Watches these folders, and no longer any other. */
  ensure(folders: Iterable<string>): void {
    const wanted = new Map<string, string>();
    for (const folder of folders) {
      const found = nearestExisting(folder);
      if (found) wanted.set(found.folder, found.identity);
    }
    for (const [folder, { identity }] of this.#held) {
      if (wanted.get(folder) !== identity) this.#drop(folder);
    }
    this.#failed.clear();
    for (const [folder, identity] of wanted) {
      if (!this.#held.has(folder)) this.#watch(folder, identity);
    }
  }

  /** Why some folder is not watched, in words; `undefined` when all are. */
  problem(): string | undefined {
    const [first] = this.#failed;
    if (!first) return undefined;
    const others = this.#failed.size > 1 ? ` and ${this.#failed.size - 1} more` : "";
    return `Cannot watch ${first[0]}${others}: ${first[1]}`;
  }

  close(): void {
    for (const folder of [...this.#held.keys()]) this.#drop(folder);
  }

  #watch(folder: string, identity: string): void {
    try {
      const watcher = watch(folder, { persistent: true }, (_, name) =>
        this.#onChange(folder, name ?? undefined),
      );
      watcher.on("error", (error) => {
        this.#drop(folder);
        this.#failed.set(folder, error.message);
      });
      this.#held.set(folder, { identity, watcher });
    } catch (error) {
      this.#failed.set(folder, (error as Error).message);
    }
  }

  #drop(folder: string): void {
    this.#held.get(folder)?.watcher.close();
    this.#held.delete(folder);
  }
}

/** The folder itself or its nearest ancestor that exists, with what tells it from a later namesake. */
function nearestExisting(folder: string): { folder: string; identity: string } | undefined {
  for (let at = folder; ; at = path.dirname(at)) {
    try {
      const { dev, ino } = statSync(at);
      return { folder: at, identity: `${dev}:${ino}` };
    } catch {
      if (at === path.dirname(at)) return undefined; // not even the root can be seen
    }
  }
}

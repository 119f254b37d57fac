import { realpath } from "node:fs/promises";
import type { Clock } from "../../platform/clock.ts";
import { repositoryName } from "./repository.ts";

/** What was found out about a folder; see `Sessions.place`. */
export type Found = { real?: string; repo?: string | null };

/** A folder is looked up again after this, when somebody still asks. */
const FRESH_MS = 60_000;

/**
 * Look-ups at once. Few, because one on a mount that does not answer holds a thread of the pool
 * that all file access shares.
 */
const MAX_AT_ONCE = 2;

/** Folders remembered: more than sessions and windows name at once. */
const MAX_KNOWN = 4096;

export type PlacesOptions = {
  clock: Clock;
  signal: AbortSignal;
  onFound: (path: string, found: Found) => void;
};

/** Finds out about folders, beside whatever the daemon answers meanwhile. */
export class Places {
  readonly #options: PlacesOptions;
  readonly #askedAt = new Map<string, number>();
  readonly #queue: { path: string; withRepo: boolean }[] = [];
  #running = 0;

  constructor(options: PlacesOptions) {
    this.#options = options;
  }

  /**
   * Looks up what is not known freshly.
   *
   * @param cwds  folders of sessions: their repositories are wanted too.
   * @param folders  folders of windows: only their links are followed.
   */
  want(cwds: Iterable<string>, folders: Iterable<string>): void {
    for (const path of cwds) this.#ask(path, true);
    for (const path of folders) this.#ask(path, false);
  }

  #ask(path: string, withRepo: boolean): void {
    const key = `${withRepo} ${path}`;
    const now = this.#options.clock.now();
    const askedAt = this.#askedAt.get(key);
    if (askedAt !== undefined && Math.abs(now - askedAt) < FRESH_MS) return;
    if (this.#askedAt.size >= MAX_KNOWN) this.#askedAt.clear();
    this.#askedAt.set(key, now);
    this.#queue.push({ path, withRepo });
    this.#next();
  }

  #next(): void {
    if (this.#running >= MAX_AT_ONCE || this.#options.signal.aborted) return;
    const job = this.#queue.shift();
    if (!job) return;
    this.#running += 1;
    void lookUp(job.path, job.withRepo).then((found) => {
      this.#running -= 1;
      if (!this.#options.signal.aborted) this.#options.onFound(job.path, found);
      this.#next();
    });
  }
}

async function lookUp(path: string, withRepo: boolean): Promise<Found> {
  // What is no absolute path cannot be told from one of the daemon's own folders.
  if (!path.startsWith("/")) return {};
  const [real, repo] = await Promise.all([
    realpath(path).catch(() => undefined),
    withRepo ? repositoryName(path) : undefined,
  ]);
  return { ...(real === undefined ? {} : { real }), ...(repo === undefined ? {} : { repo }) };
}

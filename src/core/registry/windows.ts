import { MAX_WINDOWS, WINDOW_TTL_MS } from "../protocol/limits.ts";
import type { Source, WindowReport } from "../protocol/session.ts";
import type { EpochMs } from "../protocol/time.ts";
import { isWithin, tidyPath } from "./paths.ts";

type Window = { folders: string[]; showsAgents: boolean; heardAt: EpochMs };

/** Folders whose links were followed; more than sessions and windows name at once. */
const MAX_FOLLOWED = 4096;

const TERMINAL: Source = { kind: "terminal" };

/** The editor windows that report themselves, and which of them a folder belongs to. */
export class Windows {
  readonly #windows = new Map<string, Window>();
  /** Folders by how they are spelt, with their links followed, as far as that is known. */
  readonly #real = new Map<string, string>();

  report(report: WindowReport, now: EpochMs): void {
    if (!this.#windows.has(report.key) && this.#windows.size >= MAX_WINDOWS) this.#evict();
    this.#windows.set(report.key, {
      folders: report.folders.map(tidyPath),
      showsAgents: report.tabs + report.terminals > 0,
      heardAt: now,
    });
  }

  remove(key: string): boolean {
    return this.#windows.delete(key);
  }

  /** Notes where a folder's links lead. */
  follow(path: string, real: string): void {
    if (this.#real.size >= MAX_FOLLOWED) this.#real.clear();
    this.#real.set(tidyPath(path), tidyPath(real));
  }

  /** Every folder that a window has open, for whoever resolves links. */
  folders(): string[] {
    return [...this.#windows.values()].flatMap((window) => window.folders);
  }

  /**
   * The window that shows a session in `cwd`: one that shows agents and has a folder around it. Of
   * several the one with the lowest key, so that every reader gets the same answer.
   */
  sourceOf(cwd: string | undefined, now: EpochMs): Source {
    if (cwd === undefined) return TERMINAL;
    const resolve = (path: string) => this.#real.get(path) ?? path;
    const place = resolve(tidyPath(cwd));
    let lowest: string | undefined;
    for (const [key, window] of this.#windows) {
      if (!window.showsAgents || !isAlive(window, now)) continue;
      if (lowest !== undefined && key > lowest) continue;
      if (window.folders.some((folder) => isWithin(place, resolve(folder)))) lowest = key;
    }
    return lowest === undefined ? TERMINAL : { kind: "vs_code", window_key: lowest };
  }

  expire(now: EpochMs): void {
    for (const [key, window] of this.#windows) if (!isAlive(window, now)) this.#windows.delete(key);
  }

  nextDeadline(after: EpochMs): EpochMs | undefined {
    const ends = [...this.#windows.values()].map((window) => window.heardAt + WINDOW_TTL_MS);
    return lowestAbove(ends, after);
  }

  /** The clock went back: nothing was heard in the future. */
  rewind(now: EpochMs): void {
    for (const window of this.#windows.values()) window.heardAt = Math.min(window.heardAt, now);
  }

  #evict(): void {
    let silent: [string, Window] | undefined;
    for (const entry of this.#windows) if (!silent || isMoreSilent(entry, silent)) silent = entry;
    if (silent) this.#windows.delete(silent[0]);
  }
}

const isAlive = (window: Window, now: EpochMs) => now < window.heardAt + WINDOW_TTL_MS;

const isMoreSilent = ([key, window]: [string, Window], [heldKey, held]: [string, Window]) =>
  window.heardAt < held.heardAt || (window.heardAt === held.heardAt && key < heldKey);

/** The lowest of the times that lie after `after`. */
export function lowestAbove(times: Iterable<EpochMs>, after: EpochMs): EpochMs | undefined {
  let lowest: EpochMs | undefined;
  for (const time of times) {
    if (time > after && (lowest === undefined || time < lowest)) lowest = time;
  }
  return lowest;
}

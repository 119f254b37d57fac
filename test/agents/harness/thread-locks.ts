import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Lab } from "./lab.ts";
import { waitFor } from "./wait.ts";

/** A lock file of Codex, which it keeps for each thread that is loaded. */
export interface ThreadLock {
  threadId: string;
  file: string;
  /** The process that holds the lock, if any does. */
  pid?: number;
}

/** Finds the lock files of Codex threads, in the order of the threads' beginnings. */
export async function threadLocks(lab: Lab): Promise<ThreadLock[]> {
  const folder = join(lab.codexHome, "thread-writer-locks");
  const names = await readdir(folder).catch(() => []); // not before the first thread
  const files = names.filter((name) => /^[0-9a-f].*\.lock$/.test(name)).sort();
  const holders = await flockHolders();
  const locks: ThreadLock[] = [];
  for (const name of files) {
    const file = join(folder, name);
    const found = await stat(file).catch(() => undefined); // removed since
    if (!found) continue;
    const pid = holders.get(found.ino);
    locks.push({ threadId: name.replace(".lock", ""), file, ...(pid !== undefined && { pid }) });
  }
  return locks;
}

/** Waits until the lock files are as expected, and returns them. */
export function waitForLocks(
  lab: Lab,
  what: string,
  isExpected: (locks: ThreadLock[]) => boolean,
): Promise<ThreadLock[]> {
  return waitFor(
    `Codex's lock files to show ${what}`,
    async () => {
      const locks = await threadLocks(lab);
      return isExpected(locks) ? locks : undefined;
    },
    { lastSeen: async () => JSON.stringify(await threadLocks(lab), null, 2) },
  );
}

/** By inode alone: below an overlay the kernel lists another device than `stat` does. */
async function flockHolders(): Promise<Map<number, number>> {
  const lines = (await readFile("/proc/locks", "utf8")).split("\n");
  const held = lines.map((line) => /^\d+: FLOCK +ADVISORY +WRITE +(\d+) \S+:(\d+) /.exec(line));
  return new Map(held.flatMap((match) => (match ? [[Number(match[2]), Number(match[1])]] : [])));
}

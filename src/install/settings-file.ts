import { isUtf8 } from "node:buffer";
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { type Clock, wait } from "../platform/clock.ts";
import { Unfit } from "./jsonc-text.ts";

/** What a change makes of a file's text. `deletable`: only we have ever written into it. */
export type Change = { text: string; deletable?: boolean };

/** What became of a file, or would have become of it. */
export type Rewrite<C> = {
  outcome: "created" | "changed" | "deleted" | "unchanged";
  /** The file itself, where the path is a link to it. */
  target: string;
  change: C | undefined;
};

/** A file that is empty or cut short may be in the middle of somebody's write for this long. */
const TORN_PATIENCE_MS = 1000;
const TORN_LOOK_MS = 20;

/** Tries before giving up on a file that never holds still: each takes a few milliseconds. */
const MAX_TRIES = 200;

/** Programs that read and write back without a lock do so within this time: then they are seen. */
const SETTLE_MS = 50;

/**
 * Changes one settings file that others write, too, without a lock.
 *
 * The new text is written beside the file and renamed over it, right after a check that the file is
 * still the one that was read; otherwise all is done again. Between this check and the rename lie
 * two system calls, which nobody can close without a lock. What is written into the old file in
 * between, or from an older reading over ours, is seen at once or shortly after, and edited in turn;
 * only a file that somebody renames into place just then is lost.
 *
 * Links stay, and so do mode and owner.
 *
 * @param change  Gets the text, or undefined when there is no file; returns undefined to leave it
 *   so. Given what it returned, it must change nothing more. May throw Unfit.
 * @throws Unfit when the file cannot be read, understood or replaced; it is untouched then.
 */
export async function rewriteFile<C extends Change>(
  file: string,
  change: (text: string | undefined) => C | undefined,
  { clock, dryRun = false }: { clock: Clock; dryRun?: boolean },
): Promise<Rewrite<C>> {
  const tornUntil = clock.now() + TORN_PATIENCE_MS;
  let done: Rewrite<C> | undefined;
  let old: Replaced | undefined;
  let isSettled = false;
  try {
    for (let tries = 0; tries < MAX_TRIES; ) {
      const found = look(file);
      let wanted: C | undefined;
      try {
        wanted = change(textOf(old?.lateBytes(found) ?? found.bytes));
      } catch (error) {
        const isTorn = error instanceof Unfit && error.maybeTorn;
        if (!isTorn || clock.now() >= tornUntil) throw error;
        await wait(clock, TORN_LOOK_MS);
        continue;
      }
      const result = { outcome: stepFor(found, wanted), target: found.target, change: wanted };
      if (result.outcome === "unchanged") {
        if (!done || isSettled) return done ?? result;
        isSettled = true;
        await wait(clock, SETTLE_MS);
        continue;
      }
      if (dryRun) return result;
      old?.close();
      // With a busy writer about, what waits for the disk comes too late: later it waits afterwards.
      old = carryOut(file, found, result, { isPatient: tries++ === 0 });
      if (!old) continue;
      done ??= result;
      isSettled = false;
    }
    throw new Unfit("changes all the time: another program keeps writing it");
  } finally {
    old?.close();
  }
}

/** A file that ours has taken the place of: a writer may still have it open, and write into it. */
class Replaced {
  readonly #fd: number | undefined;
  readonly #was: Buffer | undefined;
  readonly #is: Buffer;

  constructor({ fd, was, is }: { fd?: number; was?: Buffer | undefined; is: string }) {
    this.#fd = fd;
    this.#was = was;
    this.#is = Buffer.from(is);
  }

  /** What was written into it since, unless somebody has written over ours, too. */
  lateBytes({ bytes }: Found): Buffer | undefined {
    if (this.#fd === undefined || !bytes?.equals(this.#is)) return undefined;
    const late = Buffer.alloc(fs.fstatSync(this.#fd).size);
    fs.readSync(this.#fd, late, { position: 0 });
    return this.#was?.equals(late) ? undefined : late;
  }

  close(): void {
    if (this.#fd !== undefined) fs.closeSync(this.#fd);
  }
}

/** A file as it was read. `stat` and `bytes` are undefined when there is none. */
type Found = {
  target: string;
  isLink: boolean;
  stat: fs.BigIntStats | undefined;
  bytes: Buffer | undefined;
};

function look(file: string): Found {
  return orUnfit("cannot be read", () => {
    const isLink = fs.lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
    const target = isLink ? linkTarget(file) : file;
    const none = { target, isLink, stat: undefined, bytes: undefined };
    const stat = fs.statSync(target, { bigint: true, throwIfNoEntry: false });
    if (!stat) return none;
    if (!stat.isFile()) throw new Unfit("is no regular file");
    try {
      return { target, isLink, stat, bytes: fs.readFileSync(target) };
    } catch (error) {
      if (isErrno(error, "ENOENT")) return none;
      throw error;
    }
  });
}

function linkTarget(file: string): string {
  try {
    return fs.realpathSync(file);
  } catch (error) {
    if (isErrno(error, "ENOENT")) throw new Unfit("is a link to a file that does not exist");
    throw error;
  }
}

function textOf(bytes: Buffer | undefined): string | undefined {
  if (!bytes) return undefined;
  if (!isUtf8(bytes)) throw new Unfit("is no text in UTF-8", { maybeTorn: true });
  return bytes.toString();
}

function stepFor(found: Found, wanted: Change | undefined): Rewrite<unknown>["outcome"] {
  if (!wanted) return "unchanged";
  if (!found.bytes) return "created";
  // Behind a link is somebody's own arrangement: the file stays, be it empty.
  if (wanted.deletable && !found.isLink) return "deleted";
  return found.bytes.equals(Buffer.from(wanted.text)) ? "unchanged" : "changed";
}

/** Does a step; undefined, and nothing done, when the file has changed since it was looked at. */
function carryOut(
  file: string,
  found: Found,
  { outcome, change }: Rewrite<Change>,
  { isPatient }: { isPatient: boolean },
): Replaced | undefined {
  const { target, stat, bytes } = found;
  const is = change?.text ?? "";
  return orUnfit("cannot be replaced", () => {
    if (stat) refuseToPart(target, stat);
    else fs.mkdirSync(path.dirname(target), { recursive: true, mode: 0o700 });
    if (outcome === "deleted") {
      if (!isStill(file, found)) return undefined;
      fs.unlinkSync(target);
      return new Replaced({ is });
    }
    const random = randomBytes(6).toString("hex");
    const fresh = path.join(path.dirname(target), `.${path.basename(target)}.omni-dev-${random}`);
    const fd = fs.openSync(fresh, "wx", 0o600);
    let old: Replaced | undefined;
    let isInPlace = false;
    try {
      fs.writeFileSync(fd, is);
      if (stat) makeAlike(fd, stat);
      if (isPatient) fs.fsyncSync(fd);
      old = new Replaced(stat ? { fd: fs.openSync(target, "r"), was: bytes, is } : { is });
      isInPlace = isStill(file, found) && putInPlace(fresh, found);
      if (isInPlace && !isPatient) fs.fsyncSync(fd);
      return isInPlace ? old : undefined;
    } finally {
      if (!isInPlace) old?.close();
      fs.closeSync(fd);
      fs.rmSync(fresh, { force: true });
    }
  });
}

/** The last look and the rename, with nothing in between. */
function putInPlace(fresh: string, { target, stat }: Found): boolean {
  // A link does not replace a file that somebody has made meanwhile.
  if (!stat) return linkUnlessThere(fresh, target);
  if (!isSameFile(fs.statSync(target, { bigint: true }), stat)) return false;
  fs.renameSync(fresh, target);
  return true;
}

function isStill(file: string, found: Found): boolean {
  const now = look(file);
  if (now.target !== found.target) return false;
  if (!now.stat || !found.stat || !now.bytes || !found.bytes) return now.stat === found.stat;
  return isSameFile(now.stat, found.stat) && now.bytes.equals(found.bytes);
}

const isSameFile = (a: fs.BigIntStats, b: fs.BigIntStats) =>
  a.ino === b.ino && a.dev === b.dev && a.mtimeNs === b.mtimeNs && a.size === b.size;

/** Refuses what a new file in the old one's place would tear apart. */
function refuseToPart(target: string, stat: fs.BigIntStats): void {
  if (stat.nlink > 1n)
    throw new Unfit("has a second name (a hard link), which a new file would not have");
  fs.accessSync(target, fs.constants.W_OK);
}

function makeAlike(fd: number, { mode, uid, gid }: fs.BigIntStats): void {
  const own = fs.fstatSync(fd, { bigint: true });
  if (own.uid !== uid || own.gid !== gid) {
    try {
      fs.fchownSync(fd, Number(uid), Number(gid));
    } catch (cause) {
      throw new Unfit("belongs to another user or group", { cause });
    }
  }
  fs.fchmodSync(fd, Number(mode & 0o7777n));
}

function linkUnlessThere(fresh: string, target: string): boolean {
  try {
    fs.linkSync(fresh, target);
    return true;
  } catch (error) {
    if (isErrno(error, "EEXIST")) return false;
    fs.renameSync(fresh, target); // a file system without links
    return true;
  }
}

/** Turns the system's refusal into a reason. */
function orUnfit<T>(what: string, run: () => T): T {
  try {
    return run();
  } catch (cause) {
    if (cause instanceof Unfit || !(cause instanceof Error && "code" in cause)) throw cause;
    throw new Unfit(`${what} (${cause.code})`, { cause });
  }
}

const isErrno = (error: unknown, code: string) =>
  error instanceof Error && (error as NodeJS.ErrnoException).code === code;

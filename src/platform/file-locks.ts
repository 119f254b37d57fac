import { execFile } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from "node:fs";

/** Whether another process holds a file's lock, and which, where the system tells. */
export type LockCheck = { held: boolean; pid?: number };

/** Looks at advisory locks (`flock`) that others hold on files. */
export interface FileLocks {
  /** How often a look is cheap enough to be taken. */
  readonly lookEveryMs: number;

  /**
   * Looks files up. One that is not there is not held; one that could not be checked is not in the
   * answer. No file is created, and nobody has to wait for a look.
   */
  check(files: readonly string[]): Promise<Map<string, LockCheck>>;
}

/**
 * The locks of this machine.
 *
 * Linux lists them in /proc/locks, which takes none itself. Elsewhere perl, which macOS has, tries
 * each: a shared lock that is not waited for and given back at once. Node can do neither, and a
 * native module would be the only one; docs/adr/0006-codex-by-its-locks.md has the reasons.
 */
export function systemFileLocks(platform: NodeJS.Platform = process.platform): FileLocks {
  return platform === "linux" ? procLocks() : perlLocks();
}

export function procLocks(table = "/proc/locks"): FileLocks {
  return {
    lookEveryMs: 1000,
    check: async (files) => {
      const checks = new Map<string, LockCheck>();
      let held: Map<bigint, HeldLock[]>;
      try {
        held = parseLocks(readFileSync(table, "latin1"));
      } catch {
        return checks; // a system without procfs: nothing is known
      }
      for (const file of files) {
        const check = checkFile(file, held);
        if (check) checks.set(file, check);
      }
      return checks;
    },
  };
}

export type HeldLock = { pid: number; device: string };

/**
 * Reads /proc/locks: the exclusive locks, by inode. Lines look like
 * `1: FLOCK  ADVISORY  WRITE 28038 fe:00:2376891 0 EOF`; one with an arrow only waits.
 */
export function parseLocks(table: string): Map<bigint, HeldLock[]> {
  const locks = new Map<bigint, HeldLock[]>();
  for (const line of table.split("\n")) {
    const [, pid, device, inode] =
      /^\d+: (?:FLOCK|OFDLCK|POSIX) +\S+ +WRITE +(-?\d+) ([0-9a-f]+:[0-9a-f]+):(\d+) /.exec(line) ??
      [];
    if (!pid || !device || !inode) continue;
    const key = BigInt(inode);
    locks.set(key, [...(locks.get(key) ?? []), { pid: Number(pid), device }]);
  }
  return locks;
}

function checkFile(file: string, held: Map<bigint, HeldLock[]>): LockCheck | undefined {
  try {
    const { ino, dev } = statSync(file, { bigint: true });
    const candidates = held.get(ino) ?? [];
    const device = deviceName(dev);
    // Some file systems (btrfs, overlays) tell `stat` another device than the lock table.
    const lock =
      candidates.find((it) => it.device === device) ??
      candidates.find(({ pid }) => hasOpen(pid, file));
    if (!lock) return { held: false };
    return lock.pid > 0 ? { held: true, pid: lock.pid } : { held: true };
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? { held: false } : undefined;
  }
}

/** A device number the way the kernel's lock table writes it. */
export function deviceName(dev: bigint): string {
  const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & ~0xfffn);
  const minor = (dev & 0xffn) | ((dev >> 12n) & ~0xffn);
  const hex = (part: bigint) => part.toString(16).padStart(2, "0");
  return `${hex(major)}:${hex(minor & 0xffffffn)}`;
}

function hasOpen(pid: number, file: string): boolean {
  try {
    const folder = `/proc/${pid}/fd`;
    const real = realpathSync(file);
    return readdirSync(folder).some((fd) => readlinkSync(`${folder}/${fd}`) === real);
  } catch {
    return false; // gone meanwhile, or somebody else's
  }
}

/** perl answers for all files at once; it is given this long on a machine that is busy. */
const PERL_LIMIT_MS = 5000;

/** Prints for each file on stdin, which NULs separate, whether its lock is free, held or unknown. */
const PERL = `
$/ = "\\0";
while (my $file = <STDIN>) {
  chomp $file;
  my ($word, $handle) = "unknown";
  if (!open $handle, "<", $file) { $word = "free" if $!{ENOENT} }
  elsif (flock $handle, 1 | 4) { $word = "free" }
  elsif ($!{EWOULDBLOCK}) { $word = "held" }
  print "$word\\n";
}`;

export function perlLocks(program = "/usr/bin/perl"): FileLocks {
  return {
    lookEveryMs: 5000,
    check: async (files) => {
      if (files.length === 0) return new Map();
      const words = (await runPerl(program, files)).trimEnd().split("\n");
      const checks = new Map<string, LockCheck>();
      for (const [i, file] of files.entries()) {
        const word = words[i];
        if (word === "held" || word === "free") checks.set(file, { held: word === "held" });
      }
      return checks;
    },
  };
}

function runPerl(program: string, files: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    const options = { timeout: PERL_LIMIT_MS, env: { PATH: process.env.PATH, LC_ALL: "C" } };
    const child = execFile(program, ["-MErrno", "-e", PERL], options, (error, stdout) =>
      resolve(error ? "" : stdout),
    );
    child.stdin?.on("error", () => {}); // it could not start: the answer is empty
    child.stdin?.end(files.join("\0"));
  });
}

import { execFile } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import path from "node:path";

/** What is known of a pid: the start token of its process, or that no such process runs. */
export type PidCheck = string | "gone";

/** The only reader of the system's process table. */
export interface ProcessTable {
  /**
   * Looks pids up. A pid that could not be checked is not in the answer.
   *
   * The token is opaque: compared for equality only, and only with tokens of the same table.
   */
  check(pids: readonly number[]): Promise<Map<number, PidCheck>>;

  /** The parent of a process and its name, as far as they can be had. */
  parentOf(pid: number): Promise<{ parent: number; name: string } | undefined>;

  /**
   * The words of a process's command line, its program first, as far as they can be had. Where the
   * system joins them with spaces, a word with spaces in it comes as several.
   */
  argsOf(pid: number): Promise<string[] | undefined>;

  /** The working directory of a process, where the system tells. */
  cwdOf(pid: number): string | undefined;

  /** When a process with this token started, where a token tells: epoch milliseconds. */
  startedAt?(token: string): number | undefined;

  /**
   * What pids of this table are relative to: `linux:<machine id>:pid:[<inode>]`, machine and pid
   * namespace; absent where there is nothing to tell.
   */
  readonly domain?: string;
}

/** The process table of this machine. */
export function systemProcessTable(platform: NodeJS.Platform = process.platform): ProcessTable {
  return platform === "linux" ? linuxTable() : psTable();
}

function linuxTable(): ProcessTable {
  const domain = readDomain();
  return {
    ...(domain === undefined ? {} : { domain }),
    check: async (pids) => {
      const checks = new Map<number, PidCheck>();
      for (const pid of pids) {
        const check = checkProc(pid);
        if (check !== undefined) checks.set(pid, check);
      }
      return checks;
    },
    parentOf: async (pid) => {
      try {
        return parseParent(readFileSync(`/proc/${pid}/stat`, "latin1"));
      } catch {
        return undefined; // gone, or hidden
      }
    },
    argsOf: async (pid) => {
      try {
        const args = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1);
        return args.length > 0 ? args : undefined; // a zombie has none
      } catch {
        return undefined; // gone, or hidden
      }
    },
    cwdOf: (pid) => {
      try {
        const cwd = readlinkSync(`/proc/${pid}/cwd`);
        return cwd.endsWith(" (deleted)") ? undefined : cwd;
      } catch {
        return undefined; // gone, or somebody else's
      }
    },
  };
}

// Synchronous on purpose: procfs answers from memory in microseconds, a round through the thread
// pool costs ten times that.
function checkProc(pid: number): PidCheck | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ESRCH" ? "gone" : undefined;
  }
}

/**
 * Reads a line of /proc/<pid>/stat: the start time (field 22), or `"gone"` for a process that has
 * ended and only waits for its parent to notice. The name in field 2 may hold spaces and brackets.
 */
export function parseStat(stat: string): PidCheck | undefined {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state] = fields;
  if (state === "Z" || state === "X") return "gone";
  return fields[19];
}

/** Reads the name and the parent from a line of /proc/<pid>/stat. */
export function parseParent(stat: string): { parent: number; name: string } | undefined {
  const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const name = stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")"));
  return parent === undefined ? undefined : { parent: Number(parent), name };
}

function readDomain(): string | undefined {
  try {
    return `linux:${machineId()}:${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return undefined; // a kernel without namespaces, or no procfs
  }
}

function machineId(): string {
  try {
    return readFileSync("/etc/machine-id", "utf8").trim();
  } catch {
    return ""; // some containers have none
  }
}

/** `ps` answers for all pids at once; it is given this long on a machine that is busy. */
const PS_LIMIT_MS = 5000;

/** Starting `ps` costs milliseconds: between two runs only whether the pid is taken is asked. */
const PS_EVERY_MS = 10_000;

function psTable(): ProcessTable {
  const held = new Map<number, { token: string; askedAt: number }>();
  return {
    startedAt: (token) => {
      const at = Date.parse(`${token} UTC`);
      return Number.isNaN(at) ? undefined : at;
    },
    cwdOf: () => undefined,
    argsOf: async (pid) => {
      const [line = ""] = (await ps(["-o", "args=", "-p", String(pid)])).stdout.split("\n");
      const args = line.trim().split(/\s+/);
      return args[0] === "" ? undefined : args;
    },
    parentOf: async (pid) => {
      const [line = ""] = (await ps(["-o", "ppid=,comm=", "-p", String(pid)])).stdout.split("\n");
      const [, parent, command = ""] = /^\s*(\d+)\s+(.*?)\s*$/.exec(line) ?? [];
      return parent === undefined
        ? undefined
        : { parent: Number(parent), name: path.basename(command) };
    },
    check: async (pids) => {
      const now = performance.now();
      const checks = new Map<number, PidCheck>();
      const open: number[] = [];
      for (const pid of pids) {
        const known = held.get(pid);
        if (known && !isTaken(pid)) checks.set(pid, "gone");
        else if (known && now - known.askedAt < PS_EVERY_MS) checks.set(pid, known.token);
        else open.push(pid);
      }
      for (const [pid, check] of await askPs(open)) checks.set(pid, check);
      for (const pid of open) {
        const token = checks.get(pid);
        if (token !== undefined && token !== "gone") held.set(pid, { token, askedAt: now });
      }
      for (const pid of held.keys()) {
        const check = checks.get(pid);
        if (check === undefined || check === "gone") held.delete(pid);
      }
      return checks;
    },
  };
}

function isTaken(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

async function askPs(pids: readonly number[]): Promise<Map<number, PidCheck>> {
  if (pids.length === 0) return new Map();
  const { answered, stdout } = await ps(["-o", "pid=,stat=,lstart=", "-p", pids.join(",")]);
  return answered ? parsePs(stdout, pids) : new Map();
}

function ps(args: string[]): Promise<{ answered: boolean; stdout: string }> {
  return new Promise((resolve) => {
    // The C locale and UTC make the start time the same text in every environment.
    const options = { timeout: PS_LIMIT_MS, env: { ...process.env, LC_ALL: "C", TZ: "UTC" } };
    execFile("ps", args, options, (error, stdout) =>
      // `ps` fails with status 1 when some of the pids are not there: that is an answer.
      resolve({ answered: !error || (error.code === 1 && !error.killed), stdout }),
    );
  });
}

/** Reads what `ps -o pid=,stat=,lstart=` printed for `pids`. */
export function parsePs(stdout: string, pids: readonly number[]): Map<number, PidCheck> {
  const checks = new Map<number, PidCheck>(pids.map((pid) => [pid, "gone"]));
  for (const line of stdout.split("\n")) {
    const [, pid, stat, lstart] = /^\s*(\d+)\s+(\S+)\s+(.+?)\s*$/.exec(line) ?? [];
    if (pid && lstart) checks.set(Number(pid), stat?.startsWith("Z") ? "gone" : lstart);
  }
  return checks;
}

/** Programs that only stand between an agent and what it runs. */
const SHELLS = new Set([
  "sh",
  "bash",
  "dash",
  "zsh",
  "fish",
  "ksh",
  "ash",
  "csh",
  "tcsh",
  "busybox",
  "env",
]);

/** More shells within each other than anybody has. */
const MAX_ANCESTORS = 16;

/** The process itself or its nearest ancestor that is no shell; `undefined` when that is not known. */
export async function nearestProgram(
  table: ProcessTable,
  pid: number,
): Promise<number | undefined> {
  for (let at = pid, steps = 0; at > 1 && steps < MAX_ANCESTORS; steps += 1) {
    const found = await table.parentOf(at);
    if (!found) return undefined;
    if (!SHELLS.has(found.name.replace(/^-/, ""))) return at;
    at = found.parent;
  }
  return undefined;
}

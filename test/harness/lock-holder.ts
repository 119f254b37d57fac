import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { onTestFinished } from "vitest";

/** A process that holds a file's lock as Codex holds its threads'. */
export type LockHolder = {
  pid: number;
  /** Ends it as a crash does; the kernel lets go of the lock. */
  kill(): Promise<void>;
};

const HOLD = `
open(my $file, ">>", $ARGV[0]) or die;
flock($file, 2 | 4) or die "held by another";
$| = 1;
print "held\\n";
<STDIN>;
`;

/**
 * Makes a file if need be and holds its exclusive lock until it is killed, or the test ends.
 *
 * @param name  the program's name and arguments, as the process table is to show them.
 */
export async function holdLock(
  file: string,
  { name = ["codex", "--no-daemon"], cwd = "/" }: { name?: readonly string[]; cwd?: string } = {},
): Promise<LockHolder> {
  mkdirSync(path.dirname(file), { recursive: true });
  // The words after the program's own come last, where perl leaves them to the script.
  const child = spawn("/usr/bin/perl", ["-e", HOLD, "--", file, ...name.slice(1)], {
    cwd,
    argv0: name[0] ?? "codex",
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => kill(child));
  await once(child.stdout, "data");
  return { pid: child.pid ?? 0, kill: () => kill(child) };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

import { spawn } from "node:child_process";

/** What a program said and how it ended; `status` is undefined when it had to be stopped. */
export type BriefRun = { status: number | undefined; output: string };

/** More than any version text or error message that is worth reading. */
const MAX_OUTPUT_BYTES = 64 * 1024;

/**
 * Runs a program that should be over soon and collects all it prints; stops it, and all that it has
 * started, when it is not. Never rejects: a program that cannot be started has the status 127.
 */
export function runBriefly(
  file: string,
  args: readonly string[],
  {
    env,
    timeoutMs,
    input = "",
  }: { env: NodeJS.ProcessEnv; timeoutMs: number; input?: string | Buffer },
): Promise<BriefRun> {
  return new Promise((resolve) => {
    // A group of its own, so that all of it can be stopped.
    const child = spawn(file, args, { env, detached: true, stdio: "pipe" });
    let output = "";
    let stopped = false;
    const collect = (text: string) => {
      if (output.length < MAX_OUTPUT_BYTES) output += text;
    };
    child.stdout.setEncoding("utf8").on("data", collect);
    child.stderr.setEncoding("utf8").on("data", collect);
    const timer = setTimeout(() => {
      stopped = true;
      if (child.pid) killGroup(child.pid);
      // Something that left the group may still hold the pipes: nobody waits for it.
      child.stdout.destroy();
      child.stderr.destroy();
    }, timeoutMs);
    const finish = (status: number | undefined) => {
      clearTimeout(timer);
      resolve({ status: stopped ? undefined : status, output });
    };
    child.once("error", () => finish(127));
    child.once("close", (status) => finish(status ?? undefined));
    child.stdin.on("error", () => {}); // it need not read what it is given
    child.stdin.end(input);
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {} // it has just ended
}

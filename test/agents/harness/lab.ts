import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { configureAgents, DUMMY_KEY } from "./homes.ts";
import { DEADLINE_MS } from "./wait.ts";

/** Fixed, since the namespace is the lab's own: nothing else can hold the port there. */
const PORT = 8787;
const MODEL = `http://127.0.0.1:${PORT}`;
const KEEPER = fileURLToPath(new URL("keeper.mjs", import.meta.url));
const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** A place where real agents run: cut off from the network, with a home and a model of its own. */
export interface Lab {
  /** Holds everything below, and is removed by `stop`. */
  dir: string;
  home: string;
  /** The project folder that agents start in; trusted already. */
  cwd: string;
  claudeConfigDir: string;
  codexHome: string;
  piHome: string;
  /** One line of JSON per request that reached the fake model. */
  requestLog: string;
  /** The whole environment of whatever runs in the lab: nothing of this process gets in. */
  env: Readonly<Record<string, string>>;
  /** Wraps a command line so that it runs inside; the wrappers `exec`, so the pid stays the same. */
  inside(argv: readonly string[]): [command: string, ...args: string[]];
  /** Ends every process of the lab and removes its folder. Safe to call twice. */
  stop(): Promise<void>;
}

/**
 * Starts a lab: a network namespace with loopback alone and the fake model in it.
 *
 * Processes and files stay visible from outside, as the daemon under test needs them. Linux only;
 * without root it takes a user namespace.
 */
export async function startLab(): Promise<Lab> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), "omni-lab-")));
  const home = join(dir, "home");
  const cwd = join(dir, "project");
  const temporary = join(dir, "tmp");
  for (const folder of [home, cwd, temporary]) await mkdir(folder);
  await configureAgents({ home, cwd, model: MODEL });

  const env = { ...baseEnv(home), TMPDIR: temporary };
  const keeper = await startKeeper(dir, env).catch(async (error: unknown) => {
    await rm(dir, { recursive: true, force: true });
    throw error;
  });
  const enter = [
    "-t",
    String(keeper.pid),
    ...(isRoot() ? [] : ["-U", "--preserve-credentials"]),
    "-n",
  ];
  return {
    dir,
    home,
    cwd,
    claudeConfigDir: join(home, ".claude"),
    codexHome: join(home, ".codex"),
    piHome: join(home, ".pi/agent"),
    requestLog: join(dir, "requests.ndjson"),
    env,
    inside: (argv) => ["nsenter", ...enter, "--", ...argv],
    stop: () => stopKeeper(keeper),
  };
}

function baseEnv(home: string): Record<string, string> {
  return {
    PATH: `${dirname(process.execPath)}:${SYSTEM_PATH}`,
    HOME: home,
    SHELL: "/bin/bash",
    TERM: "xterm-256color",
    LANG: "C.UTF-8",
    ANTHROPIC_API_KEY: DUMMY_KEY,
    ANTHROPIC_BASE_URL: MODEL,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    DISABLE_ERROR_REPORTING: "1",
    DISABLE_TELEMETRY: "1",
    LAB_KEY: DUMMY_KEY,
    PI_OFFLINE: "1",
  };
}

/** Detached, so that a Ctrl-C meant for the test run leaves the keeper time to clear up. */
async function startKeeper(dir: string, env: Record<string, string>): Promise<ChildProcess> {
  const run = 'ip link set lo up && exec "$0" "$@"';
  const keeper = spawn(
    "unshare",
    [isRoot() ? "-n" : "-rn", "sh", "-c", run, process.execPath, KEEPER, dir, String(PORT)],
    { env, detached: true, stdio: ["pipe", "pipe", "pipe"] },
  );
  let errors = "";
  keeper.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const ended = once(keeper, "close").then(() => {
    throw new Error(`Cannot start the lab's namespace and model: ${errors}`);
  });
  await Promise.race([once(keeper.stdout, "data"), ended]);
  ended.catch(() => {}); // its later end is stop's business
  return keeper;
}

async function stopKeeper(keeper: ChildProcess): Promise<void> {
  if (keeper.exitCode !== null || keeper.signalCode !== null) return;
  const ended = once(keeper, "close", { signal: AbortSignal.timeout(DEADLINE_MS) });
  keeper.stdin?.end();
  await ended;
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

import os from "node:os";
import path from "node:path";

/** What places are derived from: everything that differs between users, systems and shells. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  readonly home: string;
  /** The user that new files belong to. */
  readonly uid: number;
  readonly tmpDir: string;
  readonly cwd: string;
}

/** Reads the host this process runs on. */
export function currentHost(): Host {
  return {
    env: process.env,
    platform: process.platform,
    home: orElse(os.homedir, "/"),
    uid: process.geteuid?.() ?? -1,
    tmpDir: os.tmpdir(),
    cwd: orElse(process.cwd, "/"),
  };
}

/** The directory of our own files, 0700. */
export function dataDir({ env, platform, home }: Host): string {
  if (platform === "darwin") return path.join(home, "Library", "Application Support", "omni-dev");
  const xdg = env.XDG_DATA_HOME;
  // The XDG specification has relative paths ignored.
  const base = xdg && path.isAbsolute(xdg) ? xdg : path.join(home, ".local", "share");
  return path.join(base, "omni-dev");
}

/** The most bytes of a socket's path: `sun_path` of the system without its closing NUL. */
export const socketPathLimit = (platform: NodeJS.Platform): number =>
  platform === "darwin" ? 103 : 107;

/** A daemon's socket, and how it was chosen. */
export type SocketChoice = {
  path: string;
  /** Somebody named it, by flag or environment. */
  given: boolean;
  /** It is where everybody looks who was told nothing. */
  isDefault: boolean;
  /** Why it cannot be used, in words for the user; only what was given can have one. */
  problem?: string;
};

/**
 * Chooses the socket: the flag, then `OMNI_DEV_SOCKET`, then the default. Empty counts as absent.
 *
 * A default that is too long for the system gives way to a short one, the same for every program
 * of this user; a given path that is too long has a `problem` instead, for nobody would look
 * elsewhere for it.
 */
export function resolveSocket({
  flag,
  host,
}: {
  flag?: string | undefined;
  host: Host;
}): SocketChoice {
  const byDefault = defaultSocket(host);
  const named = flag || host.env.OMNI_DEV_SOCKET;
  if (!named) return { path: byDefault, given: false, isDefault: true };
  const given = path.resolve(host.cwd, named);
  const choice = { path: given, given: true, isDefault: given === byDefault };
  const problem = socketPathProblem(given, host.platform);
  return problem ? { ...choice, problem } : choice;
}

/** Says what is wrong with a socket path that is too long for the system. */
export function socketPathProblem(
  socketPath: string,
  platform: NodeJS.Platform,
): string | undefined {
  const bytes = Buffer.byteLength(socketPath);
  const limit = socketPathLimit(platform);
  if (bytes <= limit) return undefined;
  return `Cannot use a socket path of ${bytes} bytes, the system allows ${limit}: ${socketPath}. Choose a shorter one with --socket or OMNI_DEV_SOCKET.`;
}

function defaultSocket(host: Host): string {
  const usual = path.join(dataDir(host), "daemon.sock");
  const own = path.join(`omni-dev-${host.uid}`, "daemon.sock");
  const short = path.join(path.isAbsolute(host.tmpDir) ? host.tmpDir : "/tmp", own);
  const fits = (candidate: string) => !socketPathProblem(candidate, host.platform);
  return [usual, short].find(fits) ?? path.join("/tmp", own);
}

/** The daemon's log. */
export const logPath = (socketPath: string): string => beside(socketPath, "daemon.log");

/** The program that editors start in Claude's place. */
export const shimPath = (socketPath: string): string => beside(socketPath, "claude-wrap");

const beside = (socketPath: string, name: string) => path.join(path.dirname(socketPath), name);

/**
 * Every directory in which Claude Code may keep its files, most specific first.
 *
 * A profile in `CLAUDE_CONFIG_DIR` holds for the shells that set it; sessions of other shells are
 * still in the usual place, so both are watched. An empty value counts as unset.
 */
export function claudeConfigDirs(host: Host): string[] {
  const profile = host.env.CLAUDE_CONFIG_DIR;
  const usual = path.join(host.home, ".claude");
  return [...new Set([profile ? path.resolve(host.cwd, profile) : usual, usual])];
}

/** Every directory with Claude Code's transcripts; `OMNI_DEV_CLAUDE_PROJECTS_DIR` replaces them. */
export function claudeProjectsDirs(host: Host): string[] {
  const instead = host.env.OMNI_DEV_CLAUDE_PROJECTS_DIR;
  if (instead) return [path.resolve(host.cwd, instead)];
  return claudeConfigDirs(host).map((dir) => path.join(dir, "projects"));
}

/** Codex's own directory. */
export const codexDir = (host: Host): string => agentDir(host, "CODEX_HOME", ".codex");

/** Every directory in which Codex may keep its files, for the same reason as Claude Code's. */
export const codexDirs = (host: Host): string[] => [
  ...new Set([codexDir(host), path.join(host.home, ".codex")]),
];

/** pi's own directory. */
export const piDir = (host: Host): string => agentDir(host, "PI_CODING_AGENT_DIR", ".pi/agent");

const agentDir = ({ env, home, cwd }: Host, variable: string, usual: string) =>
  path.resolve(cwd, env[variable] || path.join(home, usual));

/** Writes a path as people say it: `~` for the home directory. */
export function shortenHome(full: string, home: string): string {
  const base = home.replace(/\/+$/, "");
  if (base === "" || (full !== base && !full.startsWith(`${base}/`))) return full;
  return `~${full.slice(base.length)}`;
}

/** A deleted working directory, or a user without a home, must not keep a program from starting. */
function orElse(read: () => string, otherwise: string): string {
  try {
    return read();
  } catch {
    return otherwise; // asked of the system and unknown: there is nobody to tell
  }
}

import fs from "node:fs";
import path from "node:path";
import { launcherText, type Sender } from "../hook/launcher.ts";
import { type Clock, systemClock } from "../platform/clock.ts";
import { dataDir, type Host } from "../platform/paths.ts";
import {
  type HookChanges,
  hooksToPaste,
  installHooks as installInto,
  removeHooks,
} from "./claude-hooks.ts";
import {
  eventsKnownTo,
  type FoundClaude,
  findClaudes,
  type KnownEvents,
} from "./claude-versions.ts";
import { Unfit } from "./jsonc-text.ts";
import { hookCommand } from "./own-command.ts";
import { placeOwnFile } from "./own-files.ts";
import { commandProblem, findSender, type Probe, sendersOf } from "./probe.ts";
import { rewriteFile } from "./settings-file.ts";

/** What was done to one file, or with `dryRun` would be. */
export type FileReport = {
  kind: "launcher" | "sink" | "settings";
  path: string;
  /** The file behind the link that `path` is. */
  target?: string;
  outcome: "created" | "changed" | "unchanged" | "deleted" | "refused";
  /** Events, by name, whose entries were added, brought up to date, or taken away. */
  added: string[];
  upgraded: string[];
  removed: string[];
  /** Why it was refused, a sentence; the file is untouched. */
  reason?: string;
  /** What the user can put into a refused file. */
  paste?: string;
};

/** What installing or removing hooks came to; the caller prints it. */
export type HooksReport = {
  dryRun: boolean;
  /** False when a file was refused: then the command fails. */
  ok: boolean;
  files: FileReport[];
  /** The Claudes that were found; none when hooks are removed. */
  claudes: FoundClaude[];
  /** The events that are installed now; none when hooks are removed. */
  events: string[];
  /** Programs and files that entries of ours or the launcher named and that are gone. */
  deadPaths: string[];
  /** Whole sentences. */
  warnings: string[];
};

/** Where things are, for both directions. */
export type HooksOptions = {
  host: Host;
  /** The file to change instead of Claude's own. */
  settingsPath?: string | undefined;
  /** Changes nothing and tells what would be. */
  dryRun?: boolean | undefined;
  clock?: Clock | undefined;
};

/** The file that every hook entry names. It stays when the program moves or is upgraded. */
export const launcherPath = (host: Host): string => path.join(dataDir(host), "hook");

/**
 * Returns the settings file of Claude Code. `CLAUDE_CONFIG_DIR` is taken as Claude takes it: set but
 * empty, it is the working directory.
 */
export function claudeSettingsPath({ env, home, cwd }: Host): string {
  const folder = env.CLAUDE_CONFIG_DIR ?? path.join(home, ".claude");
  return path.resolve(cwd, folder, "settings.json");
}

/**
 * Installs the hooks for Claude Code: the launcher, and an entry for each event that every Claude
 * here knows. Doing it again changes nothing. What is in people's files is never a reason to throw:
 * a file that cannot be edited is reported as refused.
 *
 * @param socketPath  The daemon's socket, written into the launcher.
 * @param node  Node and the file of the sink, for machines where nothing smaller can send.
 * @param senders  What to try, best first.
 */
export async function installHooks({
  host,
  socketPath,
  node,
  senders = sendersOf(host, node),
  settingsPath,
  dryRun = false,
  clock = systemClock,
}: HooksOptions & {
  socketPath: string;
  node: { path: string; sink: string };
  senders?: readonly Sender[];
}): Promise<HooksReport> {
  const launcher = launcherPath(host);
  const [probe, claudes] = await Promise.all([findSender(senders, host), findClaudes(host)]);
  const known = eventsKnownTo(claudes);
  const { events, unknown } = known;
  const common = { dryRun, claudes, events };
  const needed = neededBy(launcher);
  const placed = placeLauncher({ launcher, probe, socketPath, dryRun });
  // Without a launcher, entries that name it would be nothing but a cost.
  if (placed.some(isRefused)) return reportOf({ ...common, files: placed, named: needed });

  const command = hookCommand(launcher);
  const wanted = { command, events, unknown };
  const settings = await editSettings(
    fileFor(host, settingsPath),
    (text) => installInto(text, wanted),
    {
      clock,
      dryRun,
      paste: () => hooksToPaste(wanted),
    },
  );
  const problem = dryRun ? undefined : await commandProblem(command, host);
  return reportOf({
    ...common,
    files: [...placed, settings.report],
    named: [...needed, ...(settings.changes?.formerPrograms ?? [])],
    warnings: [
      ...(problem ? [`The launcher ${problem} where it is: ${launcher}`] : []),
      ...versionWarnings(known, claudes),
      ...(settings.changes?.warnings ?? []),
    ],
  });
}

/**
 * Takes the hooks out of Claude Code's settings. The launcher stays: other settings files, and
 * sessions that run, may still name it, and without a daemon it does nothing.
 */
export async function uninstallHooks({
  host,
  settingsPath,
  dryRun = false,
  clock = systemClock,
}: HooksOptions): Promise<HooksReport> {
  const remove = (text: string | undefined) => (text === undefined ? undefined : removeHooks(text));
  const { report, changes } = await editSettings(fileFor(host, settingsPath), remove, {
    clock,
    dryRun,
  });
  const named = changes?.formerPrograms ?? [];
  return reportOf({ dryRun, files: [report], claudes: [], events: [], named });
}

const fileFor = (host: Host, named: string | undefined) =>
  named ? path.resolve(host.cwd, named) : claudeSettingsPath(host);

function placeLauncher({
  launcher,
  probe: { sender, attempts },
  socketPath,
  dryRun,
}: {
  launcher: string;
  probe: Probe;
  socketPath: string;
  dryRun: boolean;
}): FileReport[] {
  const place = (kind: "launcher" | "sink", file: string, contents: string | Buffer) => {
    const mode = kind === "launcher" ? 0o700 : 0o600;
    try {
      return {
        ...untouched,
        kind,
        path: file,
        outcome: placeOwnFile(file, contents, { mode, dryRun }),
      };
    } catch (error) {
      if (!(error instanceof Error && "code" in error)) throw error;
      return refusal(kind, file, `It cannot be written (${error.code}).`);
    }
  };
  if (!sender) {
    const tried = attempts.map((it) => `${it.sender.path} ${it.problem}`).join(", ");
    return [refusal("launcher", launcher, `Nothing here can send to a socket: ${tried}.`)];
  }
  if (sender.kind !== "node")
    return [place("launcher", launcher, launcherText({ sender, socketPath }))];
  // A copy beside the launcher, so that hooks work when the program is moved or replaced.
  const sink = `${launcher}.cjs`;
  const text = launcherText({ sender: { ...sender, sink }, socketPath });
  return [place("sink", sink, fs.readFileSync(sender.sink)), place("launcher", launcher, text)];
}

/** The programs and files that the launcher of an earlier install needs. */
function neededBy(launcher: string): string[] {
  if (!fs.existsSync(launcher)) return [];
  const tests = fs.readFileSync(launcher, "utf8").matchAll(/\[ -[xf] '((?:[^']|'\\'')+)' \]/g);
  return [...tests].map(([, quoted = ""]) => quoted.replaceAll("'\\''", "'"));
}

/** Changes a settings file; one that cannot be changed gives a refusal, not an exception. */
async function editSettings(
  file: string,
  change: (text: string | undefined) => HookChanges | undefined,
  { clock, dryRun, paste }: { clock: Clock; dryRun: boolean; paste?: () => string },
): Promise<{ report: FileReport; changes?: HookChanges }> {
  try {
    const { outcome, target, change: changes } = await rewriteFile(file, change, { clock, dryRun });
    const { added = [], upgraded = [], removed = [] } = changes ?? {};
    const link = target === file ? {} : { target };
    const events = { added, upgraded, removed };
    const report = { kind: "settings", path: file, ...link, outcome, ...events } as const;
    return changes ? { report, changes } : { report };
  } catch (error) {
    if (!(error instanceof Unfit)) throw error;
    const report = refusal("settings", file, `It ${error.message}.`);
    return { report: paste ? { ...report, paste: paste() } : report };
  }
}

const untouched = { added: [], upgraded: [], removed: [] };

function refusal(kind: FileReport["kind"], file: string, reason: string): FileReport {
  return { ...untouched, kind, path: file, outcome: "refused", reason };
}

const isRefused = ({ outcome }: FileReport) => outcome === "refused";

function versionWarnings(
  { events, unknown, isMinimal, limitedBy }: KnownEvents,
  claudes: readonly FoundClaude[],
): string[] {
  const limits = limitedBy.map((it) => `${it.version ?? "version unknown"}, ${it.path}`).join("; ");
  const few = `Only the ${events.length} hooks that every Claude Code 2 knows are installed`;
  if (claudes.length === 0)
    return [`No Claude Code was found. ${few}; run this again when it is there.`];
  if (isMinimal) return [`Not every Claude Code here tells its version (${limits}). ${few}.`];
  if (limitedBy.length === 0) return [];
  return [
    `Left out because a Claude Code here does not know them (${limits}): ${unknown.join(", ")}.`,
  ];
}

function reportOf({
  named,
  warnings = [],
  ...report
}: Omit<HooksReport, "ok" | "deadPaths" | "warnings"> & {
  named: readonly string[];
  warnings?: string[];
}): HooksReport {
  const isDead = (program: string) => path.isAbsolute(program) && !fs.existsSync(program);
  return {
    ...report,
    warnings,
    ok: !report.files.some(isRefused),
    deadPaths: named.filter(isDead),
  };
}

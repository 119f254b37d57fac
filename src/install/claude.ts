import path from "node:path";
import type { Clock } from "../platform/clock.ts";
import type { Host } from "../platform/paths.ts";
import { hooksToPaste, installHooks, removeHooks } from "./claude-hooks.ts";
import type { FoundClaude, KnownEvents } from "./claude-versions.ts";
import { editHooksFile } from "./hooks-file.ts";
import { hookCommand } from "./own-command.ts";
import { launcherPath, launcherWarnings } from "./place-launcher.ts";
import type { Part } from "./report.ts";

type Options = {
  host: Host;
  /** The file to change instead of Claude's own. */
  settingsPath: string | undefined;
  dryRun: boolean;
  clock: Clock;
};

/**
 * Returns the settings file of Claude Code. `CLAUDE_CONFIG_DIR` is taken as Claude takes it: set but
 * empty, it is the working directory.
 */
export function claudeSettingsPath({ env, home, cwd }: Host): string {
  const folder = env.CLAUDE_CONFIG_DIR ?? path.join(home, ".claude");
  return path.resolve(cwd, folder, "settings.json");
}

/** Puts an entry into Claude's settings for each event that every Claude here knows. */
export async function installForClaude({
  claudes,
  known,
  ...options
}: Options & { claudes: readonly FoundClaude[]; known: KnownEvents }): Promise<Part> {
  const command = hookCommand(launcherPath(options.host));
  const wanted = { command, events: known.events, unknown: known.unknown };
  const { report, changes } = await editHooksFile(
    fileFor(options),
    (text) => installHooks(text, wanted),
    { ...options, paste: () => hooksToPaste(wanted) },
  );
  return {
    files: [report],
    named: changes?.formerPrograms ?? [],
    warnings: [
      ...(await launcherWarnings(command, options)),
      ...versionWarnings(known, claudes),
      ...(changes?.warnings ?? []),
    ],
  };
}

/** Takes our entries out of Claude's settings. */
export async function uninstallForClaude(options: Options): Promise<Part> {
  const remove = (text: string | undefined) => (text === undefined ? undefined : removeHooks(text));
  const { report, changes } = await editHooksFile(fileFor(options), remove, options);
  return { files: [report], named: changes?.formerPrograms ?? [] };
}

const fileFor = ({ host, settingsPath }: Options) => ({
  agent: "claude",
  path: settingsPath ? path.resolve(host.cwd, settingsPath) : claudeSettingsPath(host),
});

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

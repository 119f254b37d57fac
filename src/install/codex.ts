import fs from "node:fs";
import path from "node:path";
import type { Clock } from "../platform/clock.ts";
import { codexDir, type Host } from "../platform/paths.ts";
import { hooksToPaste, installHooks, removeHooks, untrustedIn } from "./codex-hooks.ts";
import type { HookChanges } from "./hook-entries.ts";
import { editHooksFile } from "./hooks-file.ts";
import { agentHookCommand } from "./own-command.ts";
import { launcherPath, launcherWarnings } from "./place-launcher.ts";
import { isDirectory, isProgram, onPath } from "./programs.ts";
import type { Part } from "./report.ts";

type Options = {
  host: Host;
  /** Codex's home, when it was named; then it counts as being there. */
  codexHome: string | undefined;
  dryRun: boolean;
  clock: Clock;
};

/** Puts our entries into Codex's `hooks.json`, where there is a Codex. */
export async function installForCodex(options: Options): Promise<Part> {
  const { host, codexHome } = options;
  if (!codexHome && !isHere(host)) {
    const note =
      "Codex was not found, so nothing is installed for it. --codex-home DIR does it all the same.";
    return { files: [], notes: [note] };
  }
  const command = agentHookCommand(launcherPath(host), "codex");
  const { report, changes } = await editHooksFile(
    fileFor(options),
    (text) => installHooks(text, command),
    { ...options, paste: () => hooksToPaste(command) },
  );
  return {
    files: [report],
    named: changes?.formerPrograms ?? [],
    warnings: [...(await launcherWarnings(command, options)), ...(changes?.warnings ?? [])],
    notes: changes ? trustNotes(changes, homeFor(options)) : [],
  };
}

/**
 * Takes our entries out of `hooks.json`, whether or not Codex is still there. A file that is not
 * there, and that nobody named, is not worth a word.
 */
export async function uninstallForCodex(options: Options): Promise<Part> {
  const remove = (text: string | undefined) => (text === undefined ? undefined : removeHooks(text));
  const { report, changes } = await editHooksFile(fileFor(options), remove, options);
  const isAbsent = !changes && report.outcome === "unchanged";
  if (isAbsent && !options.codexHome) return { files: [] };
  const note =
    "Codex trusts a hook by its place and its text. Should it skip one of yours from now on, open codex, run /hooks and trust it.";
  return {
    files: [report],
    named: changes?.formerPrograms ?? [],
    warnings: changes?.warnings ?? [],
    notes: changes && changes.removed.length > 0 ? [note] : [],
  };
}

const homeFor = ({ host, codexHome }: Options) =>
  codexHome ? path.resolve(host.cwd, codexHome) : codexDir(host);

const fileFor = (options: Options) => ({
  agent: "codex",
  path: path.join(homeFor(options), "hooks.json"),
});

const isHere = (host: Host) =>
  isDirectory(codexDir(host)) || onPath("codex", host).some((file) => isProgram(file));

/** Says which of our entries may have to be trusted: those unknown to Codex, and those just changed. */
function trustNotes({ text, added, upgraded }: HookChanges, home: string): string[] {
  const files = [...new Set([home, realPathOf(home)])].map((it) => path.join(it, "hooks.json"));
  const { untrusted, all } = untrustedIn(text, { files, config: configIn(home) });
  const changed = [...added, ...upgraded];
  const skipped = all.filter((place) => untrusted.includes(place) || changed.includes(place.event));
  if (skipped.length === 0) return [];
  return [
    `Codex skips a hook until you trust it: open codex, run /hooks and trust the omni-dev entries (${skipped.length} of ${all.length}).`,
  ];
}

/** Codex itself writes it, and it is only looked at: what cannot be read says nothing. */
function configIn(home: string): string {
  try {
    return fs.readFileSync(path.join(home, "config.toml"), "utf8");
  } catch {
    return "";
  }
}

/** Codex knows a home that `CODEX_HOME` names by its real path. */
function realPathOf(folder: string): string {
  try {
    return fs.realpathSync(folder);
  } catch {
    return folder; // not there yet
  }
}

import fs from "node:fs";
import path from "node:path";
import type { Host } from "../platform/paths.ts";
import { isProgram, onPath } from "./programs.ts";
import { runBriefly } from "./run-briefly.ts";

/** One Claude Code on this machine. */
export type FoundClaude = {
  /** The program, or the folder of the editor's extension that brings its own. */
  path: string;
  version?: string;
};

/**
 * The hook events to ask for, each with the first version of Claude Code that is known to take it.
 * Some have come a few versions earlier; that costs an event in these few, while a name that a
 * version does not know costs its user a dialog at every start, or all settings.
 *
 * Source: Claude Code's changelog, and the list of names in its packages 2.0.42, 2.0.45, 2.0.64,
 * 2.1.76, 2.1.77, 2.1.78, 2.1.87 and 2.1.88.
 */
const since = {
  SessionStart: "1.0.62",
  UserPromptSubmit: "1.0.54",
  PreToolUse: "1.0.38",
  PostToolUse: "1.0.38",
  PostToolUseFailure: "2.0.64",
  PermissionRequest: "2.0.45",
  PermissionDenied: "2.1.88",
  Notification: "1.0.38",
  Elicitation: "2.1.76",
  ElicitationResult: "2.1.76",
  SubagentStart: "2.0.43",
  SubagentStop: "1.0.41",
  PreCompact: "1.0.48",
  PostCompact: "2.1.76",
  Stop: "1.0.38",
  StopFailure: "2.1.78",
  SessionEnd: "1.0.85",
} as const satisfies Record<string, string>;

/** Every version of Claude Code 2 takes the events that this one does: the set for unknown versions. */
const MINIMAL_VERSION = "2.0.0";

/** The events that every Claude here knows. */
export type KnownEvents = {
  events: string[];
  /** Events that a Claude here does not know. */
  unknown: string[];
  /** The Claudes because of which some are left out. */
  limitedBy: FoundClaude[];
  /** True when a version is not known, or no Claude was found: then it is the minimal set. */
  isMinimal: boolean;
};

/** Decides which events may stand in the settings that all these Claudes read. */
export function eventsKnownTo(claudes: readonly FoundClaude[]): KnownEvents {
  const names = Object.keys(since) as (keyof typeof since)[];
  const takes = (version: string) => (name: keyof typeof since) => !isOlder(version, since[name]);
  const versions = claudes.flatMap(({ version }) => version ?? []);
  const isMinimal = claudes.length === 0 || versions.length < claudes.length;
  const all = isMinimal ? [...versions, MINIMAL_VERSION] : versions;
  return {
    events: names.filter((name) => all.every((version) => takes(version)(name))),
    unknown: names.filter((name) => !versions.every((version) => takes(version)(name))),
    limitedBy: claudes.filter(({ version }) => !names.every(takes(version ?? MINIMAL_VERSION))),
    isMinimal,
  };
}

/** Folders in the home directory where editors keep extensions, on this machine or as its guests. */
const editorFolders = [
  ".vscode",
  ".vscode-insiders",
  ".vscode-oss",
  ".vscode-server",
  ".vscode-server-insiders",
  ".vscodium-server",
  ".cursor",
  ".cursor-server",
  ".windsurf",
  ".windsurf-server",
  ".antigravity",
  ".positron",
  ".trae",
];

/** Claude's own places that need not be on PATH. */
const ownPlaces = [".claude/local/claude", ".local/bin/claude"];

/**
 * Finds every Claude Code of this user: on PATH, in its own places, and inside editors' extensions.
 * Programs are asked for their version, extensions have it in their manifest.
 */
export async function findClaudes(host: Host): Promise<FoundClaude[]> {
  const places = ownPlaces.map((place) => path.join(host.home, place));
  const programs = new Map<string, string>();
  for (const file of [...onPath("claude", host), ...places].filter(isProgram)) {
    const real = fs.realpathSync(file);
    if (!programs.has(real)) programs.set(real, file);
  }
  const asked = [...programs].map(async ([real, file]) =>
    found(file, (await askVersion(file, host)) ?? versionIn(real)),
  );
  return [...(await Promise.all(asked)), ...claudesOfEditors(host)];
}

const found = (file: string, version: string | undefined): FoundClaude =>
  version ? { path: file, version } : { path: file };

/** A healthy Claude answers within a second; a cold disk may need a few. */
const VERSION_TIMEOUT_MS = 5000;

async function askVersion(file: string, { env }: Host): Promise<string | undefined> {
  const { status, output } = await runBriefly(file, ["--version"], {
    env: { ...env, DISABLE_AUTOUPDATER: "1" },
    timeoutMs: VERSION_TIMEOUT_MS,
  });
  return status === 0 ? /\b\d+\.\d+\.\d+\b/.exec(output)?.[0] : undefined;
}

/** Where the installers of Claude keep a version, it is in the path, or in a manifest above. */
function versionIn(real: string): string | undefined {
  const inPath = /\/versions\/(\d+\.\d+\.\d+)/.exec(real)?.[1];
  return inPath ?? manifestVersion(path.dirname(real), "@anthropic-ai/claude-code");
}

function claudesOfEditors({ home }: Host): FoundClaude[] {
  return editorFolders.flatMap((folder) => {
    const extensions = path.join(home, folder, "extensions");
    const discarded = readJson(path.join(extensions, ".obsolete")) ?? {};
    return namesIn(extensions)
      .filter((name) => name.startsWith("anthropic.claude-code-") && !(name in discarded))
      .map((name) => {
        const place = path.join(extensions, name);
        const inName = /^anthropic\.claude-code-(\d+\.\d+\.\d+)/.exec(name)?.[1];
        return found(place, manifestVersion(place, "claude-code") ?? inName);
      });
  });
}

function manifestVersion(folder: string, name: string): string | undefined {
  const manifest = readJson(path.join(folder, "package.json"));
  const version = manifest?.name === name ? manifest.version : undefined;
  return typeof version === "string" && /^\d+\.\d+\.\d+/.test(version) ? version : undefined;
}

function readJson(file: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(fs.readFileSync(file, "utf8"));
    return typeof value === "object" && value !== null
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined; // not there, or not what it should be: as good as absent
  }
}

function namesIn(folder: string): string[] {
  try {
    return fs.readdirSync(folder).sort();
  } catch {
    return []; // this editor is not here
  }
}

/** Compares versions by their three numbers; what follows them says nothing about events. */
function isOlder(version: string, other: string): boolean {
  const [a, b] = [version, other].map((it) => it.split(/[.+-]/).slice(0, 3).map(Number));
  const at = a?.findIndex((number, i) => number !== b?.[i]) ?? -1;
  return at >= 0 && (a?.[at] ?? 0) < (b?.[at] ?? 0);
}

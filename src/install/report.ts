import fs from "node:fs";
import path from "node:path";
import type { FoundClaude } from "./claude-versions.ts";

/** What was done to one file, or with `dryRun` would be. */
export type FileReport = {
  /**
   * `settings`: an agent's own file, in which entries of ours stand beside other things;
   * `extension`: a file of ours among an agent's.
   */
  kind: "launcher" | "sink" | "settings" | "extension";
  /** Whose file it is; our own have none. */
  agent?: string;
  path: string;
  /** The file behind the link that `path` is. */
  target?: string;
  outcome: "created" | "changed" | "unchanged" | "deleted" | "refused";
  /** Events, by name, whose entries were added, brought up to date, or taken away. */
  added: string[];
  upgraded: string[];
  removed: string[];
  /** Why it was left as it is, a sentence. */
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
  /** Claude's events that are installed now; none when hooks are removed. */
  events: string[];
  /** Programs and files that entries of ours or the launcher named and that are gone. */
  deadPaths: string[];
  /** Whole sentences; what is wrong, or may be. */
  warnings: string[];
  /** Whole sentences; what else there is to know or to do. */
  notes: string[];
};

/** What one piece of the work came to: our own files, or what was done for one agent. */
export type Part = {
  files: FileReport[];
  /** Programs and files that were named before, and may be gone. */
  named?: readonly string[];
  warnings?: readonly string[];
  notes?: readonly string[];
};

/** The fields of a file in which no entries are. */
export const untouched = { added: [], upgraded: [], removed: [] };

/** A file that cannot be changed; `reason` is a sentence. */
export const refusal = (
  file: Pick<FileReport, "kind" | "agent" | "path">,
  reason: string,
): FileReport => ({ ...untouched, ...file, outcome: "refused", reason });

export const isRefused = ({ outcome }: FileReport) => outcome === "refused";

/** Puts the parts together, in their order. */
export function reportOf(
  parts: readonly Part[],
  common: Pick<HooksReport, "dryRun" | "claudes" | "events">,
): HooksReport {
  const files = parts.flatMap((part) => part.files);
  const isDead = (program: string) => path.isAbsolute(program) && !fs.existsSync(program);
  return {
    ...common,
    ok: !files.some(isRefused),
    files,
    deadPaths: unique(parts.flatMap(({ named = [] }) => named)).filter(isDead),
    warnings: unique(parts.flatMap(({ warnings = [] }) => warnings)),
    notes: unique(parts.flatMap(({ notes = [] }) => notes)),
  };
}

const unique = (texts: readonly string[]) => [...new Set(texts)];

import type { Clock } from "../platform/clock.ts";
import type { HookChanges } from "./hook-entries.ts";
import { Unfit } from "./jsonc-text.ts";
import { type FileReport, refusal } from "./report.ts";
import { rewriteFile } from "./settings-file.ts";

/**
 * Changes the entries in an agent's file; one that cannot be changed gives a refusal, no exception.
 *
 * @param change  As in `rewriteFile`.
 * @param paste  What people can put into a refused file themselves.
 */
export async function editHooksFile(
  file: { agent: string; path: string },
  change: (text: string | undefined) => HookChanges | undefined,
  { clock, dryRun, paste }: { clock: Clock; dryRun: boolean; paste?: () => string },
): Promise<{ report: FileReport; changes?: HookChanges }> {
  const named = { kind: "settings", ...file } as const;
  try {
    const { change: changes, ...done } = await rewriteFile(file.path, change, { clock, dryRun });
    const { added = [], upgraded = [], removed = [] } = changes ?? {};
    const link = done.target === file.path ? {} : { target: done.target };
    const report = { ...named, ...link, outcome: done.outcome, added, upgraded, removed };
    return changes ? { report, changes } : { report };
  } catch (error) {
    if (!(error instanceof Unfit)) throw error;
    const report = refusal(named, `It ${error.message}.`);
    return { report: paste ? { ...report, paste: paste() } : report };
  }
}

import { visible } from "../core/present/visible.ts";
import type { FileReport, HooksReport } from "../install/report.ts";
import { shortenHome } from "../platform/paths.ts";
import type { World } from "./world.ts";

/**
 * Prints what was done to which file; what needs the user's eye goes to stderr.
 *
 * @returns the exit status: 1 when a file was refused.
 */
export function printHooksReport(report: HooksReport, world: World): number {
  const show = (path: string) => visible(shortenHome(path, world.host.home));
  for (const file of report.files) {
    const lines = linesOf(file, report.dryRun, show);
    const out = file.outcome === "refused" ? world.stderr : world.stdout;
    out.write(`${lines.join("\n")}\n`);
  }
  for (const note of report.notes) world.stdout.write(`${visible(note)}\n`);
  for (const path of report.deadPaths) world.stderr.write(`No longer there: ${show(path)}\n`);
  for (const warning of report.warnings) world.stderr.write(`${visible(warning)}\n`);
  return report.ok ? 0 : 1;
}

const done = { created: "Created", changed: "Changed", deleted: "Deleted", unchanged: "Unchanged" };
const planned = {
  created: "Would create",
  changed: "Would change",
  deleted: "Would delete",
  unchanged: "Unchanged",
};

function linesOf(file: FileReport, dryRun: boolean, show: (path: string) => string): string[] {
  const where = file.target
    ? `${show(file.path)} (a link to ${show(file.target)})`
    : show(file.path);
  const reason = file.reason ? `. ${visible(file.reason)}` : "";
  if (file.outcome === "refused") {
    const advice = file.paste ? ["Put this into it yourself:", "", file.paste, ""] : [];
    return [`Left as it is: ${where}${reason}`, ...advice];
  }
  const events = (what: string, names: string[]) =>
    names.length > 0 ? [`  ${what}: ${names.join(", ")}`] : [];
  return [
    `${(dryRun ? planned : done)[file.outcome]}: ${where}${reason}`,
    ...events("added", file.added),
    ...events("brought up to date", file.upgraded),
    ...events("removed", file.removed),
  ];
}

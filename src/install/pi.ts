import path from "node:path";
import { type Host, piDir } from "../platform/paths.ts";
import { findPi, installPiExtension, removePiExtension } from "./pi-extension.ts";
import { type FileReport, type Part, untouched } from "./report.ts";

type Options = {
  host: Host;
  /** pi's agent directory, when it was named; then pi counts as being there. */
  piAgentDir: string | undefined;
  dryRun: boolean;
};

/**
 * Puts our extension among pi's, where there is a pi.
 *
 * @param source  The extension's packaged text.
 */
export function installForPi(options: Options & { source: string; socketPath: string }): Part {
  const { host, piAgentDir } = options;
  if (!piAgentDir && !findPi(host)) {
    const note =
      "pi was not found, so nothing is installed for it. --pi-agent-dir DIR does it all the same.";
    return { files: [], notes: [note] };
  }
  const report = installPiExtension({ ...options, agentDir: agentDirFor(options) });
  const isNew = report.outcome === "created" || report.outcome === "changed";
  const notes = isNew
    ? ["A pi that runs already reports after /reload; others when they start."]
    : [];
  return { files: [fileReport(report)], notes };
}

/** Takes our extension away, whether or not pi is still there. What nobody has is not worth a word. */
export function uninstallForPi(options: Options): Part {
  const report = removePiExtension({ ...options, agentDir: agentDirFor(options) });
  const isAbsent = report.outcome === "unchanged" && report.reason === undefined;
  if (isAbsent && !options.piAgentDir) return { files: [] };
  return { files: [fileReport(report)] };
}

const agentDirFor = ({ host, piAgentDir }: Options) =>
  piAgentDir ? path.resolve(host.cwd, piAgentDir) : piDir(host);

const fileReport = (report: Pick<FileReport, "path" | "outcome" | "reason">): FileReport => ({
  ...untouched,
  kind: "extension",
  agent: "pi",
  ...report,
});

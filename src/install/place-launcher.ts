import fs from "node:fs";
import path from "node:path";
import { launcherText } from "../hook/launcher.ts";
import { dataDir, type Host } from "../platform/paths.ts";
import { placeOwnFile } from "./own-files.ts";
import { commandProblem, type Probe } from "./probe.ts";
import { type FileReport, type Part, refusal, untouched } from "./report.ts";

/** The file that every hook entry names. It stays when the program moves or is upgraded. */
export const launcherPath = (host: Host): string => path.join(dataDir(host), "hook");

/**
 * Puts the launcher in place, and beside it what it needs.
 *
 * @param probe  What can send here.
 * @param socketPath  The daemon's socket, written into the launcher.
 */
export function placeLauncher({
  launcher,
  probe: { sender, attempts },
  socketPath,
  dryRun,
}: {
  launcher: string;
  probe: Probe;
  socketPath: string;
  dryRun: boolean;
}): Part {
  const named = neededBy(launcher);
  const place = (kind: "launcher" | "sink", file: string, contents: string | Buffer) => {
    const mode = kind === "launcher" ? 0o700 : 0o600;
    try {
      const outcome = placeOwnFile(file, contents, { mode, dryRun });
      return { ...untouched, kind, path: file, outcome } satisfies FileReport;
    } catch (error) {
      if (!(error instanceof Error && "code" in error)) throw error;
      return refusal({ kind, path: file }, `It cannot be written (${error.code}).`);
    }
  };
  if (!sender) {
    const tried = attempts.map((it) => `${it.sender.path} ${it.problem}`).join(", ");
    const reason = `Nothing here can send to a socket: ${tried}.`;
    return { named, files: [refusal({ kind: "launcher", path: launcher }, reason)] };
  }
  if (sender.kind !== "node")
    return { named, files: [place("launcher", launcher, launcherText({ sender, socketPath }))] };
  // A copy beside the launcher, so that hooks work when the program is moved or replaced.
  const sink = `${launcher}.cjs`;
  const text = launcherText({ sender: { ...sender, sink }, socketPath });
  const copy = place("sink", sink, fs.readFileSync(sender.sink));
  return { named, files: [copy, place("launcher", launcher, text)] };
}

/** The programs and files that the launcher of an earlier install needs. */
function neededBy(launcher: string): string[] {
  if (!fs.existsSync(launcher)) return [];
  const tests = fs.readFileSync(launcher, "utf8").matchAll(/\[ -[xf] '((?:[^']|'\\'')+)' \]/g);
  return [...tests].map(([, quoted = ""]) => quoted.replaceAll("'\\''", "'"));
}

/** Tries the command of an entry, where there is something to try, and says what is wrong with it. */
export async function launcherWarnings(
  command: string,
  { host, dryRun }: { host: Host; dryRun: boolean },
): Promise<string[]> {
  const problem = dryRun ? undefined : await commandProblem(command, host);
  return problem ? [`The launcher ${problem} where it is: ${launcherPath(host)}`] : [];
}

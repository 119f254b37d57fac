import fs from "node:fs";
import path from "node:path";
import { shellQuote } from "../hook/launcher.ts";
import type { Host } from "../platform/paths.ts";
import { placeOwnFile } from "./own-files.ts";
import { isProgram, onPath } from "./programs.ts";
import { type FileReport, refusal, untouched } from "./report.ts";
import { runBriefly } from "./run-briefly.ts";

/** How the file begins: one that does not is somebody else's, and stays as it is. */
const HEADER = "#!/bin/sh\n# Starts Claude Code inside omni-dev's wrapper.";

/** A shell and Node start within a fraction of this, on a busy machine as well. */
const TRY_TIMEOUT_MS = 10_000;

/** What the shim runs: Node, at each place where it may be, and the wrapper's file. */
export type ShimProgram = { nodes: readonly string[]; wrapper: string };

/**
 * Returns the text of the shim, the one file that an editor's setting can name.
 *
 * Without Node or the wrapper it becomes the command it was given: Claude always starts. What would
 * change Node or make it speak is kept from it and given to the command, which is also handed every
 * file that was open. `OMNI_DEV_SOCKET` in its environment wins over the socket given here.
 */
export function shimText({ nodes, wrapper }: ShimProgram, socketPath: string): string {
  return `${HEADER} Written by "omni-dev sessions
# install-wrapper" and written anew by the next one: changes made here are lost.
socket=${shellQuote(socketPath)}
socket=\${OMNI_DEV_SOCKET:-$socket}
wrapper=${shellQuote(wrapper)}
for node in ${nodes.map(shellQuote).join(" ")}; do
  [ -x "$node" ] && [ -r "$wrapper" ] || continue
  set -- -- "$@"
  for fd in 3 4 5 6 7 8 9; do
    [ -e /dev/fd/$fd ] && set -- --fd $fd "$@"
  done
${hiddenFromNode.map(hide).join("\n")}
  exec "$node" --max-semi-space-size=1 "$wrapper" --socket "$socket" "$@"
done
exec "$@"
`;
}

/** Certificates, which take Node three times as long as all else; options, debuggers and the like. */
const hiddenFromNode = ["NODE_EXTRA_CA_CERTS", "NODE_OPTIONS", "NODE_V8_COVERAGE"];

const hide = (name: string) =>
  `  [ -n "\${${name}+x}" ] && set -- --env "${name}=$${name}" "$@" && unset ${name}`;

/**
 * Names the places of a Node, the one that will be there longest first: a link on PATH often leads
 * to another version after an upgrade, when the file it led to is gone.
 */
export function nodePlaces(execPath: string, host: Host): string[] {
  const links = onPath("node", host).filter(
    (file) => isProgram(file) && realPath(file) === realPath(execPath),
  );
  return [...new Set([...links, execPath])];
}

/** Puts the shim in place and tries it; one that does not work is refused, for Claude would not start. */
export async function placeShim({
  shim,
  program,
  socketPath,
  host,
  dryRun,
}: {
  shim: string;
  program: ShimProgram;
  socketPath: string;
  host: Host;
  dryRun: boolean;
}): Promise<FileReport> {
  const file = { kind: "launcher", path: shim } as const;
  const found = look(shim);
  if (found === "foreign") return refusal(file, "It was not written by omni-dev.");
  try {
    const options = { mode: 0o700, dryRun };
    const outcome = placeOwnFile(shim, shimText(program, socketPath), options);
    const problem = dryRun ? undefined : await problemWith(shim, host);
    return problem ? refusal(file, problem) : { ...untouched, ...file, outcome };
  } catch (error) {
    return refusal(file, `It cannot be written (${codeOf(error)}).`);
  }
}

/** Takes the shim away, if it is ours. */
export function removeShim(shim: string, { dryRun }: { dryRun: boolean }): FileReport {
  const file = { ...untouched, kind: "launcher", path: shim } as const;
  switch (look(shim)) {
    case "absent":
      return { ...file, outcome: "unchanged" };
    case "foreign":
      return { ...file, outcome: "unchanged", reason: "It was not written by omni-dev." };
    case "ours":
      try {
        if (!dryRun) fs.rmSync(shim);
        return { ...file, outcome: "deleted" };
      } catch (error) {
        return refusal(file, `It cannot be removed (${codeOf(error)}).`);
      }
  }
}

/** Whether a setting that names this file names a shim of ours, of whatever install. */
export const isShim = (file: string): boolean =>
  path.isAbsolute(file) && (/\/omni-dev\/claude-wrap$/.test(file) || look(file) === "ours");

function look(file: string): "absent" | "ours" | "foreign" {
  try {
    const stat = fs.lstatSync(file, { throwIfNoEntry: false });
    if (!stat) return "absent";
    const isOurs = stat.isFile() && fs.readFileSync(file, "utf8").startsWith(HEADER);
    return isOurs ? "ours" : "foreign"; // we make no links
  } catch {
    return "foreign"; // what may not be read was not written by us
  }
}

/** Starts something with it, as an editor starts Claude. */
async function problemWith(shim: string, { env }: Host): Promise<string | undefined> {
  const command = ["/bin/sh", "-c", 'cat; printf %s "$1"; exit 7', "sh", "b c"];
  const timing = { env, timeoutMs: TRY_TIMEOUT_MS, input: "a " };
  const { status, output } = await runBriefly(shim, command, timing);
  if (status === 7 && output === "a b c") return undefined;
  return `It does not start what it is given (exit status ${status ?? "none in time"}).`;
}

function realPath(file: string): string {
  try {
    return fs.realpathSync(file);
  } catch {
    return file; // gone meanwhile
  }
}

const codeOf = (error: unknown) =>
  error instanceof Error && "code" in error ? String(error.code) : String(error);

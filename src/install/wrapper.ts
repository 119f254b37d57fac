import fs from "node:fs";
import path from "node:path";
import { type Clock, systemClock } from "../platform/clock.ts";
import { type Host, shimPath } from "../platform/paths.ts";
import { Unfit } from "./jsonc-text.ts";
import { type FileReport, type HooksReport, isRefused, refusal, reportOf } from "./report.ts";
import { rewriteFile } from "./settings-file.ts";
import {
  clearWrapper,
  type EditorSettings,
  editorNames,
  findEditorSettings,
  setWrapper,
  WRAPPER_SETTING,
  type WrapperChange,
} from "./vscode-settings.ts";
import { isShim, nodePlaces, placeShim, removeShim } from "./wrapper-shim.ts";

/** Where things are, for both directions. */
export type WrapperOptions = {
  host: Host;
  /** The daemon's socket; the shim is beside it. */
  socketPath: string;
  /** The shim, instead of the one beside the socket. */
  shim?: string | undefined;
  /** The file to change instead of the editors' own. */
  settingsPath?: string | undefined;
  /** Changes nothing and tells what would be. */
  dryRun?: boolean | undefined;
  clock?: Clock | undefined;
};

/**
 * Installs the wrapper: the shim, and the setting that names it in the settings of each editor. Doing
 * it again changes nothing. What is in people's files is never a reason to throw: a file that cannot
 * be edited is reported as refused.
 *
 * @param execPath  The Node that is to run it.
 * @param wrapper  The wrapper's file.
 */
export async function installWrapper({
  execPath,
  wrapper,
  ...options
}: WrapperOptions & { execPath: string; wrapper: string }): Promise<HooksReport> {
  const { host, socketPath, dryRun = false } = options;
  const shim = shimFor(options);
  const program = { nodes: nodePlaces(execPath, host), wrapper };
  const placed = await placeShim({ shim, program, socketPath, host, dryRun });
  const found = settingsFor(options);
  const line = `${JSON.stringify(WRAPPER_SETTING)}: ${JSON.stringify(shim)}`;
  // Without a shim that works, a setting that names it would keep Claude from starting.
  const files = isRefused(placed)
    ? []
    : await editAll(found, (text) => setWrapper(text, shim, isShim), options, line);
  const nobody = `None of these was found: ${editorNames.join(", ")}. Put this into the settings of your editor, or name them with --settings: ${line}`;
  const report = reportOf(
    [
      { files: [placed, ...files], notes: notesFor(found) },
      { files: [], warnings: found.length === 0 ? [nobody] : [] },
    ],
    { dryRun, claudes: [], events: [] },
  );
  return { ...report, ok: report.ok && found.length > 0 };
}

/**
 * Takes the setting out of the editors' settings where it names our shim, and the shim itself. While
 * settings of any editor still name it, the shim stays: Claude could not start without it.
 */
export async function uninstallWrapper(options: WrapperOptions): Promise<HooksReport> {
  const { dryRun = false } = options;
  const shim = shimFor(options);
  // Who names one shim means that one; else any of ours is meant.
  const isOurs = options.shim ? (named: string) => named === shim : isShim;
  const found = settingsFor(options);
  const clear = (text: string | undefined) =>
    text === undefined ? undefined : clearWrapper(text, isOurs);
  const files = await editAll(found, clear, options);
  const naming = dryRun ? [] : [...found, ...findEditorSettings(options.host)].filter(names(shim));
  const removed = naming.length > 0 ? [] : [removeShim(shim, { dryRun })];
  const notes = notesFor(found);
  const warnings = naming.map((it) => `The shim stays, for these settings name it: ${it.path}`);
  return reportOf([{ files: [...files, ...removed], notes, warnings }], {
    dryRun,
    claudes: [],
    events: [],
  });
}

const shimFor = ({ host, socketPath, shim }: WrapperOptions) =>
  shim ? path.resolve(host.cwd, shim) : shimPath(socketPath);

function settingsFor({ host, settingsPath }: WrapperOptions): EditorSettings[] {
  if (!settingsPath) return findEditorSettings(host);
  return [{ editor: "", path: path.resolve(host.cwd, settingsPath) }];
}

/** Whether a text has the path in it, wherever that stands; one that cannot be read may have it. */
const names = (shim: string) => (settings: EditorSettings) => {
  try {
    const text = fs.readFileSync(settings.path, "utf8");
    return text.includes(JSON.stringify(shim).slice(1, -1));
  } catch (error) {
    return !(error instanceof Error && "code" in error && error.code === "ENOENT");
  }
};

function notesFor(found: readonly EditorSettings[]): string[] {
  const names = [...new Set(found.map(({ editor }) => editor).filter((name) => name !== ""))];
  return names.length > 0 ? [`Editors found here: ${names.join(", ")}.`] : [];
}

async function editAll(
  found: readonly EditorSettings[],
  change: (text: string | undefined) => WrapperChange | undefined,
  options: WrapperOptions,
  paste?: string,
): Promise<FileReport[]> {
  const reports: FileReport[] = [];
  for (const file of found) reports.push(await edit(file, change, options, paste));
  return reports;
}

async function edit(
  { editor, path: file }: EditorSettings,
  change: (text: string | undefined) => WrapperChange | undefined,
  { clock = systemClock, dryRun = false }: WrapperOptions,
  paste: string | undefined,
): Promise<FileReport> {
  const named = { kind: "settings", agent: editor, path: file } as const;
  try {
    const { change: changed, ...done } = await rewriteFile(file, change, { clock, dryRun });
    const link = done.target === file ? {} : { target: done.target };
    const whenDone = (what: WrapperChange["what"]) =>
      changed?.what === what && done.outcome !== "unchanged" ? [WRAPPER_SETTING] : [];
    return {
      ...named,
      ...link,
      outcome: done.outcome,
      added: whenDone("added"),
      upgraded: whenDone("upgraded"),
      removed: whenDone("removed"),
    };
  } catch (error) {
    if (!(error instanceof Unfit)) throw error;
    const report = refusal(named, `It ${error.message}.`);
    return paste ? { ...report, paste } : report;
  }
}

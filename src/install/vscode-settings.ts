import fs from "node:fs";
import path from "node:path";
import type { Node } from "jsonc-parser";
import type { Host } from "../platform/paths.ts";
import { insertInto, isOursToRemove, newFile, removeFrom } from "./jsonc-edit.ts";
import { applyEdits, endOf, type JsoncText, readJsonc, Unfit, valueAt } from "./jsonc-text.ts";
import { isDirectory } from "./programs.ts";
import type { Change } from "./settings-file.ts";

/** The setting in which Claude Code's extension looks for a program to start Claude with. */
export const WRAPPER_SETTING = "claudeCode.claudeProcessWrapper";

/** A settings file, and the editor that reads it. */
export type EditorSettings = { editor: string; path: string };

/** Editors of the same make: the folder of their settings, and that of their server, where one runs. */
const editors = [
  { editor: "VS Code", folder: "Code", servers: [".vscode-server", ".vscode-remote"] },
  {
    editor: "VS Code Insiders",
    folder: "Code - Insiders",
    servers: [".vscode-server-insiders"],
  },
  { editor: "VSCodium", folder: "VSCodium", servers: [".vscodium-server"] },
  { editor: "Cursor", folder: "Cursor", servers: [".cursor-server"] },
];

export const editorNames: readonly string[] = editors.map(({ editor }) => editor);

/**
 * Finds the settings of every editor that this user has started on this machine: the user's own, those
 * of profiles that have a file of theirs, and the machine's, where it is worked on from another one:
 * Claude runs here then, and the settings of the other machine name files of that machine.
 */
export function findEditorSettings({ env, platform, home }: Host): EditorSettings[] {
  const xdg = env.XDG_CONFIG_HOME;
  const config =
    platform === "darwin"
      ? path.join(home, "Library", "Application Support")
      : xdg && path.isAbsolute(xdg)
        ? xdg
        : path.join(home, ".config");
  return editors.flatMap(({ editor, folder, servers }) => {
    const user = path.join(config, folder, "User");
    const machines = servers.map((server) => path.join(home, server, "data", "Machine"));
    const folders = [user, ...machines].filter(isDirectory);
    const files = folders.map((it) => path.join(it, "settings.json"));
    return [...files, ...profilesIn(user)].map((file) => ({ editor, path: file }));
  });
}

function profilesIn(user: string): string[] {
  const profiles = path.join(user, "profiles");
  if (!isDirectory(profiles)) return [];
  return fs
    .readdirSync(profiles)
    .sort()
    .map((name) => path.join(profiles, name, "settings.json"))
    .filter((file) => fs.existsSync(file));
}

/** What was done to one text. */
export type WrapperChange = Change & { what: "added" | "upgraded" | "removed" | "nothing" };

/**
 * Names the wrapper in a text. Doing it again changes nothing, and `clearWrapper` gives back the same
 * bytes, unless the setting was there already.
 *
 * @param text  undefined when there is no file.
 * @param isOurs  Whether a program that is named now may give way.
 * @throws Unfit when the text cannot be edited, or names somebody else's program.
 */
export function setWrapper(
  text: string | undefined,
  program: string,
  isOurs: (program: string) => boolean,
): WrapperChange {
  if (text === undefined) return { text: newFile({ [WRAPPER_SETTING]: program }), what: "added" };
  const doc = readJsonc(text);
  const value = valueAt(doc.root, WRAPPER_SETTING);
  if (!value) {
    const child = { key: WRAPPER_SETTING, value: program };
    return { text: applyEdits(text, insertInto(doc, doc.root, [child])), what: "added" };
  }
  const named = programIn(value);
  if (named === program) return { text, what: "nothing" };
  if (named !== "" && !isOurs(named)) throw new Unfit(`names another wrapper already: ${named}`);
  const edit = { from: value.offset, to: endOf(value), text: JSON.stringify(program) };
  return { text: applyEdits(text, [edit]), what: named === "" ? "added" : "upgraded" };
}

/**
 * Takes the setting out of a text, if it names a program of ours.
 * `deletable`: we have made the file, and nothing else is in it now.
 *
 * @throws Unfit when the text cannot be edited.
 */
export function clearWrapper(text: string, isOurs: (program: string) => boolean): WrapperChange {
  const doc = readJsonc(text);
  const value = valueAt(doc.root, WRAPPER_SETTING);
  const property = doc.root.children?.find((it) => value && it.children?.[1] === value);
  if (typeof value?.value !== "string" || !property || !isOurs(value.value))
    return { text, what: "nothing" };
  const rest = applyEdits(text, removeFrom(doc, doc.root, new Set([property])));
  return { text: rest, deletable: isDeletable(doc, rest), what: "removed" };
}

const isDeletable = (doc: JsoncText, rest: string) =>
  isOursToRemove(doc, doc.root) && /^\{[ \t\r\n]*\}[ \t\r\n]*$/.test(rest);

/** The program that is named; empty when none is. */
function programIn({ value }: Node): string {
  if (value === null) return "";
  if (typeof value === "string") return value;
  throw new Unfit(`has a ${WRAPPER_SETTING} that is no text`);
}

import fs from "node:fs";
import path from "node:path";
import type { Host } from "../platform/paths.ts";

/** Where a program of this name would be on PATH, in its order. */
export const onPath = (name: string, { env }: Host): string[] =>
  (env.PATH ?? "")
    .split(path.delimiter)
    .filter((folder) => path.isAbsolute(folder))
    .map((folder) => path.join(folder, name));

/** Whether this is a file that this user may run. */
export function isProgram(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false; // not there, or not for us
  }
}

export function isDirectory(file: string): boolean {
  try {
    return fs.statSync(file).isDirectory();
  } catch {
    return false; // not there, or not for us to see
  }
}

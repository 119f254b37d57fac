import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";

export type OwnFileOutcome = "created" | "changed" | "unchanged";

/**
 * Puts one of our own files in place in one step, for a running program may just be reading it;
 * leaves it alone when it is as it should be. It and its directory are for this user only.
 */
export function placeOwnFile(
  file: string,
  contents: string | Buffer,
  { mode, dryRun }: { mode: number; dryRun: boolean },
): OwnFileOutcome {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  const isSame =
    stat?.isFile() &&
    (stat.mode & 0o7777) === mode &&
    fs.readFileSync(file).equals(Buffer.from(contents));
  if (isSame) return "unchanged";
  const outcome = stat ? "changed" : "created";
  if (dryRun) return outcome;
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const fresh = `${file}.${randomBytes(6).toString("hex")}`;
  try {
    const fd = fs.openSync(fresh, "wx", mode);
    try {
      fs.writeFileSync(fd, contents);
      fs.fchmodSync(fd, mode); // whatever the umask took away
      fs.fsyncSync(fd); // half a launcher after a power cut would be an error of every hook
    } finally {
      fs.closeSync(fd);
    }
    fs.renameSync(fresh, file);
  } finally {
    fs.rmSync(fresh, { force: true });
  }
  return outcome;
}

import fs from "node:fs";
import { ToolError } from "../core/protocol/errors.ts";

const WRITE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

export type DirectoryOptions = {
  uid: number;
  /** Nobody but us has a use for it. */
  isDefault: boolean;
  /** Tells whether a file of this name is one that the daemon's directory holds anyway. */
  isOurs: (name: string) => boolean;
};

/**
 * Makes sure that nobody but this user can put anything in the place of the socket.
 *
 * A directory that is missing is created, 0700. One of our own is tightened to 0700: the default
 * one, and any that holds nothing but our files. A directory that was given and holds other things
 * as well, a home for example, keeps its mode, which others may rely on, as long as only its owner
 * can write there.
 *
 * @throws ToolError `socketPathUnsafe` when it is shared or somebody else's, `daemonStartFailed`
 * when it cannot be created or read.
 */
export function prepareDirectory(dir: string, { uid, isDefault, isOurs }: DirectoryOptions): void {
  try {
    const created = fs.mkdirSync(dir, { recursive: true, mode: 0o700 }) !== undefined;
    const mode = ownedMode(dir, uid);
    const shared = (mode & STICKY) !== 0; // like /tmp: meant for many users
    const ours = !shared && (created || isDefault || fs.readdirSync(dir).every(isOurs));
    if (ours && (mode & 0o777) !== 0o700) fs.chmodSync(dir, 0o700);
    if (!ours && (mode & WRITE_BY_OTHERS) !== 0) throw unsafe(dir, "other users can write there");
  } catch (cause) {
    if (cause instanceof ToolError) throw cause;
    throw new ToolError("daemonStartFailed", `Cannot use the directory ${dir}: ${reason(cause)}`, {
      cause,
    });
  }
}

function ownedMode(dir: string, uid: number): number {
  const link = fs.lstatSync(dir);
  // A link of root's is the administrator's wish; anybody else's leads where they like.
  if (link.isSymbolicLink() && link.uid !== uid && link.uid !== 0)
    throw unsafe(dir, "it is a link of another user");
  const { uid: owner, mode } = fs.statSync(dir);
  if (owner !== uid) throw unsafe(dir, `it belongs to another user (uid ${owner})`);
  return mode;
}

const unsafe = (dir: string, why: string) =>
  new ToolError(
    "socketPathUnsafe",
    `Cannot put the socket into ${dir}: ${why}. Choose a directory of your own with --socket or OMNI_DEV_SOCKET.`,
  );

const reason = (error: unknown) => (error instanceof Error ? error.message : String(error));

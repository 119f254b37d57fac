import fs from "node:fs";
import path from "node:path";
import { ToolError } from "../core/protocol/errors.ts";
import type { Host, SocketChoice } from "../platform/paths.ts";

/**
 * Takes the socket that was chosen, when it can be used and trusted.
 *
 * The default may lie in a directory that every user can write to; another user who put a socket
 * there first would be told what this user's agents do.
 *
 * @throws ToolError `socketPathTooLong` for a given path that the system cannot take,
 * `socketPathUnsafe` when the default directory belongs to somebody else.
 */
export function usableSocket(choice: SocketChoice, { uid }: Pick<Host, "uid">): string {
  if (choice.problem) throw new ToolError("socketPathTooLong", choice.problem);
  if (choice.isDefault) {
    const dir = path.dirname(choice.path);
    const owner = fs.statSync(dir, { throwIfNoEntry: false })?.uid;
    if (owner !== undefined && owner !== uid)
      throw new ToolError(
        "socketPathUnsafe",
        `Cannot trust the socket in ${dir}: the directory belongs to another user (uid ${owner}). Choose a directory of your own with --socket or OMNI_DEV_SOCKET.`,
      );
  }
  return choice.path;
}

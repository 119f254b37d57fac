import { usableSocket } from "../client/socket-path.ts";
import { resolveSocket, type SocketChoice } from "../platform/paths.ts";
import type { World } from "./world.ts";

export type SocketOption = { socket?: string };

/**
 * Finds the daemon's socket.
 *
 * @throws ToolError `socketPathTooLong` or `socketPathUnsafe` when it cannot be used.
 */
export function socketOf({ socket }: SocketOption, { host }: Pick<World, "host">): SocketChoice {
  const choice = resolveSocket({ ...(socket && { flag: socket }), host });
  return { ...choice, path: usableSocket(choice, host) };
}

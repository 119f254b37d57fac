import { request } from "../../client/request.ts";
import { visible } from "../../core/present/visible.ts";
import { type SocketOption, socketOf } from "../socket.ts";
import type { World } from "../world.ts";

/** Takes back a window's report, and tells whether there was one. */
export async function windowUnregister(
  options: SocketOption & { key: string },
  world: World,
): Promise<number> {
  const { path } = socketOf(options, world);
  const { removed } = await request(path, "sessions", "window-unregister", { key: options.key });
  const name = visible(options.key);
  world.stdout.write(removed ? `Removed window ${name}.\n` : `There was no window ${name}.\n`);
  return 0;
}

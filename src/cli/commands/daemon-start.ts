import { visible } from "../../core/present/visible.ts";
import { presenceAt, spawnDaemon } from "../daemon-control.ts";
import { type SocketOption, socketOf } from "../socket.ts";
import type { World } from "../world.ts";

/** Starts the daemon in the background; that it runs already is fine, too. */
export async function daemonStart(options: SocketOption, world: World): Promise<number> {
  const { path } = socketOf(options, world);
  const isThere = (await presenceAt(path)) === "answers";
  if (!isThere) await spawnDaemon(path, world);
  world.stdout.write(`The daemon is ${isThere ? "already " : ""}running at ${visible(path)}.\n`);
  return 0;
}

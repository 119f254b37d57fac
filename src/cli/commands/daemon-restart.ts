import { visible } from "../../core/present/visible.ts";
import { spawnDaemon, stopDaemon } from "../daemon-control.ts";
import { type SocketOption, socketOf } from "../socket.ts";
import type { World } from "../world.ts";

/** Puts a daemon of this version in the place of the one that runs, if any. */
export async function daemonRestart(options: SocketOption, world: World): Promise<number> {
  const { path } = socketOf(options, world);
  await stopDaemon(path, world);
  await spawnDaemon(path, world);
  world.stdout.write(`The daemon is running at ${visible(path)}.\n`);
  return 0;
}

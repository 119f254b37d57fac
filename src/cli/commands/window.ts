import path from "node:path";
import { request } from "../../client/request.ts";
import { visible } from "../../core/present/visible.ts";
import { type SocketOption, socketOf } from "../socket.ts";
import type { World } from "../world.ts";

export type WindowOptions = SocketOption & {
  key: string;
  folder: string[];
  tabs: number;
  terminals: number;
};

/** Reports what an editor window shows of agents, as the editor's extension does. */
export async function window(options: WindowOptions, world: World): Promise<number> {
  const { key, folder, tabs, terminals } = options;
  const folders = folder.map((name) => path.resolve(world.host.cwd, name));
  const report = { key, folders, tabs, terminals };
  await request(socketOf(options, world).path, "sessions", "window", report);
  world.stdout.write(`Reported window ${visible(key)}.\n`);
  return 0;
}

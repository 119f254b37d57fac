import { visible } from "../../core/present/visible.ts";
import { stopDaemon } from "../daemon-control.ts";
import { type SocketOption, socketOf } from "../socket.ts";
import type { World } from "../world.ts";

/** Stops the daemon; that there was none is fine, too. */
export async function daemonStop(options: SocketOption, world: World): Promise<number> {
  const { path } = socketOf(options, world);
  const wasThere = await stopDaemon(path, world);
  world.stdout.write(
    wasThere ? "The daemon has stopped.\n" : `No daemon is running at ${visible(path)}.\n`,
  );
  return 0;
}

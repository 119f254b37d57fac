import { request, requestLine } from "../../client/request.ts";
import { listingText } from "../listing.ts";
import { type SocketOption, socketOf } from "../socket.ts";
import type { World } from "../world.ts";

export type ListOptions = SocketOption & { output: "table" | "json"; all?: boolean };

/** Prints the sessions that run now; as JSON exactly what the daemon sends. */
export async function list(options: ListOptions, world: World): Promise<number> {
  const { path } = socketOf(options, world);
  if (options.output === "json")
    world.stdout.write(`${await requestLine(path, "sessions", "list", null)}\n`);
  else {
    const { sessions } = await request(path, "sessions", "list", null);
    world.stdout.write(listingText(sessions, options.all ?? false, world));
  }
  return 0;
}

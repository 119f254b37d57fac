import { request, requestLine } from "../../client/request.ts";
import { ToolError } from "../../core/protocol/errors.ts";
import { shortenHome } from "../../platform/paths.ts";
import { explanationLines } from "../explanation.ts";
import { type SocketOption, socketOf } from "../socket.ts";
import type { World } from "../world.ts";

export type ExplainOptions = SocketOption & { output: "text" | "json" };

/**
 * Prints why one session shows what it shows.
 *
 * @param id  its id, or how it begins.
 */
export async function explain(id: string, options: ExplainOptions, world: World): Promise<number> {
  const { path } = socketOf(options, world);
  const session_id = await wholeId(id, path);
  if (options.output === "json") {
    world.stdout.write(`${await requestLine(path, "sessions", "explain", { session_id })}\n`);
    return 0;
  }
  const explanation = await request(path, "sessions", "explain", { session_id });
  const shorten = (full: string) => shortenHome(full, world.host.home);
  const lines = explanationLines(explanation, { now: world.clock.now(), shorten });
  world.stdout.write(lines.map((line) => `${line}\n`).join(""));
  return 0;
}

async function wholeId(beginning: string, socketPath: string): Promise<string> {
  const { sessions } = await request(socketPath, "sessions", "list", null);
  const ids = sessions.map(({ session_id }) => session_id);
  if (ids.includes(beginning)) return beginning;
  const found = ids.filter((id) => id.startsWith(beginning));
  const [only, another] = found;
  if (only === undefined)
    throw new ToolError(
      "unknownSession",
      `No session is listed whose id begins with: ${beginning}`,
    );
  if (another !== undefined)
    throw new ToolError(
      "unknownSession",
      `More than one session begins with ${beginning}: ${found.join(", ")}`,
    );
  return only;
}

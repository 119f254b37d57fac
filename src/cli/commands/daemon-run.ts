import { type SocketOption, socketOf } from "../socket.ts";
import { stopSignal } from "../stop-signal.ts";
import type { World } from "../world.ts";

/** Runs the daemon in this process until it is asked to end, and then lets it finish its replies. */
export async function daemonRun(
  options: SocketOption & { quiet?: boolean },
  world: World,
): Promise<number> {
  const { path: socketPath, isDefault } = socketOf(options, world);
  if (options.quiet) process.prependListener("uncaughtException", (error) => crash(error, world));
  const daemon = await world.startDaemon({
    socketPath,
    isDefault,
    signal: stopSignal(world),
    ...(!options.quiet && { echo: (line) => world.stderr.write(`${line}\n`) }),
  });
  await daemon.done;
  return 0;
}

/** Without the error's message: this goes into the log, and a message may quote a conversation. */
function crash({ name, stack = "" }: Error, { stderr }: World): void {
  const frames = stack.split("\n").filter((line) => /^\s+at /.test(line));
  stderr.write([`Unexpected ${name}`, ...frames, ""].join("\n"));
  process.exit(1);
}

import fs from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { visible } from "../../core/present/visible.ts";
import { wait } from "../../platform/clock.ts";
import { logPath } from "../../platform/paths.ts";
import { type SocketOption, socketOf } from "../socket.ts";
import { stopSignal } from "../stop-signal.ts";
import type { World } from "../world.ts";

/** How often the file is looked at while it is followed. */
const LOOK_MS = 200;
const CHUNK_BYTES = 64 * 1024;

/** Prints the daemon's log, and with `follow` what is added to it, in whatever file, until stopped. */
export async function daemonLogs(
  options: SocketOption & { follow?: boolean },
  world: World,
): Promise<number> {
  const { stdout, stderr, clock } = world;
  const file = logPath(socketOf(options, world).path);
  const print = (line: string) => stdout.write(`${visible(line)}\n`);
  const signal = stopSignal(world);
  let log = open(file);
  if (!log && !options.follow) {
    stderr.write(`There is no log yet: ${visible(file)}\n`);
    return 1;
  }
  log?.printNew(print);
  while (options.follow && !signal.aborted) {
    await wait(clock, LOOK_MS, signal);
    log?.printNew(print);
    if (log?.isAt(file)) continue;
    log?.close();
    log = open(file);
    log?.printNew(print);
  }
  log?.close();
  return 0;
}

/** A log file that is read as it grows; `undefined` while there is none. */
function open(file: string) {
  if (!fs.existsSync(file)) return undefined;
  const fd = fs.openSync(file, "r");
  const decoder = new StringDecoder("utf8");
  const chunk = Buffer.alloc(CHUNK_BYTES);
  const { ino } = fs.fstatSync(fd);
  let rest = "";
  return {
    printNew(print: (line: string) => void): void {
      for (let bytes = CHUNK_BYTES; bytes > 0; ) {
        bytes = fs.readSync(fd, chunk, 0, CHUNK_BYTES, null);
        const lines = (rest + decoder.write(chunk.subarray(0, bytes))).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) print(line);
      }
    },
    /** Whether this is still the file of that name; after rotation it is not. */
    isAt: (name: string) => fs.statSync(name, { throwIfNoEntry: false })?.ino === ino,
    close: () => fs.closeSync(fd),
  };
}

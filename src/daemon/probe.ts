import net from "node:net";
import { MAX_LINE_BYTES } from "../core/protocol/limits.ts";
import { LineReader } from "../core/protocol/lines.ts";
import { systemClock, wait } from "../platform/clock.ts";

/**
 * Who is behind a socket file.
 *
 * `nobody`: it is left over; `gone`: it went while we asked, so look again; `daemon`: it answers;
 * `silent`: a process holds it that does not answer; `stranger`: one that is no daemon of ours.
 */
export type Holder = "nobody" | "gone" | "daemon" | "silent" | "stranger";

/**
 * Asks a socket for a sign of life.
 *
 * @param patienceMs  real milliseconds until a holder that does not answer counts as silent.
 * @throws the system's error when the question itself could not be put.
 */
export async function whoHolds(socketPath: string, patienceMs: number): Promise<Holder> {
  const settled = new AbortController();
  const socket = net.connect(socketPath);
  const reader = new LineReader(MAX_LINE_BYTES);
  try {
    return await new Promise<Holder>((resolve, reject) => {
      socket.on("connect", () => socket.write('{"op":"ping"}\n'));
      socket.on("data", (chunk) => {
        reader.push(chunk);
        const line = reader.next();
        if (line !== undefined) resolve(isPong(line) ? "daemon" : "stranger");
      });
      socket.on("error", (error) => {
        const holder = holderOf(error);
        if (holder) resolve(holder);
        else reject(error);
      });
      socket.on("close", () => resolve("gone"));
      void wait(systemClock, patienceMs, settled.signal).then(() => resolve("silent"));
    });
  } finally {
    settled.abort();
    socket.destroy();
  }
}

function holderOf(error: NodeJS.ErrnoException): Holder | undefined {
  switch (error.code) {
    case "ECONNREFUSED":
      return "nobody";
    case "ENOENT":
    case "ECONNRESET":
    case "EPIPE":
      return "gone";
    case "EAGAIN": // its queue of connections is full, and it takes none
      return "silent";
    case "EPROTOTYPE": // not a stream socket
      return "stranger";
    default:
      return undefined;
  }
}

/** Any reply will do: a daemon that refuses a ping is still a daemon. */
function isPong(line: Uint8Array | "tooLong"): boolean {
  if (line === "tooLong") return false;
  try {
    const reply: unknown = JSON.parse(new TextDecoder().decode(line));
    return typeof reply === "object" && reply !== null && "ok" in reply;
  } catch {
    return false; // not our protocol
  }
}

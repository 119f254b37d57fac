import { closeSync, createReadStream, createWriteStream, fstatSync, openSync } from "node:fs";
import { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";

/** How one of our own streams is handed on: read or written by us, or given to the child as it is. */
export type Plan = "forward" | "inherit";

/** Plans a stream by what it is. A terminal or a device is the child's own business. */
export function planFor(fd: number): Plan {
  try {
    const stat = fstatSync(fd);
    return stat.isFIFO() || stat.isSocket() || stat.isFile() ? "forward" : "inherit";
  } catch {
    return "inherit"; // closed, or nothing that can be looked at
  }
}

/** Opens one of our own streams for reading, without ever blocking. */
export function openInput(fd: number): Readable {
  return isFile(fd)
    ? createReadStream("", { fd })
    : closing(fd, new Socket({ fd, writable: false }));
}

/**
 * Opens one of our own streams for writing. Not `process.stdout`: that one is never closed, and a
 * reader would wait for its end.
 */
export function openOutput(fd: number): Writable {
  return isFile(fd)
    ? createWriteStream("", { fd })
    : closing(fd, new Socket({ fd, readable: false }));
}

/** Closes the file with its stream, so that the other side sees it: Node never closes these three. */
function closing(fd: number, socket: Socket): Socket {
  return socket.once("close", () => {
    closeSync(fd);
    openSync("/dev/null", "r+"); // in its place, so that nothing else gets this number
  });
}

/** Whether there is an open file of this number. */
export function isOpen(fd: number): boolean {
  try {
    fstatSync(fd);
    return true;
  } catch {
    return false; // the system would refuse to start a child with it
  }
}

const isFile = (fd: number) => fstatSync(fd).isFile();

/**
 * Passes on all bytes, and then lets `look` see them. What the reader does not take is not read, so
 * that no more than a few pieces are held. An end is passed on, and so is a reader that went.
 */
export function forward(from: Readable, to: Writable, look: (chunk: Buffer) => void): void {
  from.on("data", (chunk: Buffer) => {
    // Of any large piece it is said that it would rather wait, also when it has gone already.
    const isFull = !to.write(chunk) && to.writableLength > 0;
    if (isFull) {
      from.pause();
      to.once("drain", () => from.resume());
    }
    look(chunk);
  });
  from.on("end", () => to.end());
  from.on("error", () => to.end()); // a writer that went without an end
  to.on("error", () => {}); // "close" follows
  to.on("close", () => from.destroy());
}

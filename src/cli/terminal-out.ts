import fs from "node:fs";
import type { Clock } from "../platform/clock.ts";
import type { ScreenOut } from "./screen.ts";

/** How soon a terminal that took nothing is offered the rest. */
const RETRY_MS = 20;

/**
 * Writes to a terminal without waiting for it.
 *
 * Node's own stream blocks the process while a terminal does not read, as behind a dead connection,
 * and with it a daemon that runs in this process, and with that the agents that report to it.
 *
 * @param onGone  called when the terminal cannot be written to any more.
 */
export function terminalOut(fd: number, clock: Clock, onGone: () => void): ScreenOut {
  const never = new AbortController().signal;
  const send = (bytes: Buffer, done: () => void) => {
    fs.write(fd, bytes, (error, count) => {
      if (error?.code === "EAGAIN") clock.after(RETRY_MS, () => send(bytes, done), never);
      else if (error) {
        onGone();
        done();
      } else if (count < bytes.length) send(bytes.subarray(count), done);
      else done();
    });
  };
  return (text, done) => send(Buffer.from(text), done);
}

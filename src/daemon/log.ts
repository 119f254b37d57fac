import fs from "node:fs";
import { formatTime } from "../core/protocol/time.ts";
import type { Clock } from "../platform/clock.ts";

export type LogLevel = "info" | "warn" | "error";

/**
 * Notes what an operator needs to know: one line, never a word of a conversation, so no payload
 * and no message of an unexpected error, which may quote one. It never throws.
 */
export type Log = (level: LogLevel, message: string) => void;

/** The log and one older file take at most twice this. */
const MAX_LOG_BYTES = 5_000_000;

/** Longer messages are cut: a log is read by people. */
const MAX_MESSAGE_CHARS = 2000;

/** Frames of a stack that are noted: where it happened and who called. */
const MAX_FRAMES = 6;

/**
 * Logs to a file of mode 0600, which is renamed to `<file>.1` before it would pass `maxBytes`.
 *
 * The file is opened anew for each line: lines are rare, and one that was deleted comes back.
 */
export function fileLog(file: string, clock: Clock, maxBytes = MAX_LOG_BYTES): Log {
  return (level, message) => {
    const text = message.replaceAll(/\s*[\r\n]+\s*/g, " ").slice(0, MAX_MESSAGE_CHARS);
    const line = Buffer.from(`${formatTime(clock.now())} ${level} ${text}\n`);
    try {
      if (sizeOf(file) + line.length > maxBytes) fs.renameSync(file, `${file}.1`);
      append(file, line);
    } catch {
      // A full disk or a vanished directory must not stop the daemon, and there is no other place
      // to say so.
    }
  };
}

/** A log that is kept in memory, for tests. */
export function memoryLog(): { log: Log; lines: string[] } {
  const lines: string[] = [];
  return { log: (level, message) => lines.push(`${level} ${message}`), lines };
}

/** Tells where an unexpected error came from, without its message: that may quote a payload. */
export function describeBug(error: unknown): string {
  if (!(error instanceof Error)) return `a thrown ${typeof error}`;
  const stack = error.stack ?? "";
  const frames = stack
    .slice(stack.indexOf(error.message) + error.message.length)
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .slice(0, MAX_FRAMES)
    .map((line) => line.trim());
  const code = "code" in error ? ` (${String(error.code)})` : "";
  return `${error.name}${code} ${frames.join(", ")}`;
}

const sizeOf = (file: string) => fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;

function append(file: string, line: Buffer): void {
  const fd = fs.openSync(file, "a", 0o600);
  try {
    fs.fchmodSync(fd, 0o600); // an older file may have been created by other means
    fs.writeSync(fd, line);
  } finally {
    fs.closeSync(fd);
  }
}

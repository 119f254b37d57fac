import { inspect } from "node:util";
import { visible } from "../core/present/visible.ts";
import { type ErrorCode, ToolError } from "../core/protocol/errors.ts";

/** Exit status of a command line that was not understood. */
export const USAGE_EXIT = 2;

/** Exit status and next step for every failure; a new code does not compile without one. */
export const failures: Record<ErrorCode, { exit: number; hint?: string }> = {
  usage: { exit: USAGE_EXIT, hint: "omni-dev --help tells what there is." },
  daemonUnreachable: {
    exit: 3,
    hint: "Start it with: omni-dev daemon start (with the same --socket, if you gave one)",
  },
  daemonRefused: { exit: 1 },
  daemonRunning: { exit: 1, hint: "To replace it: omni-dev daemon restart" },
  daemonStays: { exit: 1 },
  daemonStartFailed: { exit: 1 },
  brokenReply: {
    exit: 1,
    hint: "Is that socket omni-dev's? An older daemon is replaced by: omni-dev daemon restart",
  },
  socketPathTooLong: { exit: 1 },
  socketPathUnsafe: { exit: 1 },
  invalidPayload: { exit: 1 },
  unknownOp: { exit: 1, hint: "Replace an older daemon with: omni-dev daemon restart" },
  unknownSession: { exit: 1, hint: "omni-dev sessions list --all -o json tells the ids." },
  lineTooLong: { exit: 1 },
};

/**
 * Tells on `write` what went wrong, and returns the exit status.
 *
 * What is no ToolError is a bug: one line about it, and how to see where it came from.
 */
export function tellFailure(error: unknown, debug: boolean, write: (text: string) => void): number {
  const { exit, hint } =
    error instanceof ToolError
      ? failures[error.code]
      : { exit: 1, hint: "This is a bug. OMNI_DEV_DEBUG=1 shows where it comes from." };
  const message = error instanceof Error ? error.message : String(error);
  write(`${visible(message)}\n`);
  if (debug) write(`${inspect(error)}\n`);
  else if (hint) write(`${hint}\n`);
  return exit;
}

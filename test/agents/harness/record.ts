import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Lab } from "./lab.ts";
import { type WaitOptions, waitFor } from "./wait.ts";

/** Half of the shortest state that matters here: `shell` after an interrupted tool. */
const POLL_MS = 10;

/** What Claude Code says about itself in its process record; see docs/agents/claude-code.md. */
export interface ClaudeRecord {
  pid: number;
  sessionId: string;
  cwd: string;
  kind: string;
  entrypoint: string;
  procStart: string;
  pidDomain: string;
  status?: string;
  waitingFor?: string;
  [field: string]: unknown;
}

/** Names the process record of a Claude Code process. */
export function recordPath(lab: Lab, pid: number): string {
  return join(lab.claudeConfigDir, "sessions", `${pid}.json`);
}

/** Reads a process record; `undefined` while there is none, or a half-written one. */
export async function readRecord(lab: Lab, pid: number): Promise<ClaudeRecord | undefined> {
  try {
    return JSON.parse(await readFile(recordPath(lab, pid), "utf8")) as ClaudeRecord;
  } catch {
    // Claude Code writes in place: empty at first, and a longer record's tail is cut off last.
    return undefined;
  }
}

/**
 * Waits until a process record shows a state, and returns the record.
 *
 * @param state  `idle`, `busy`, `shell` or `waiting: permission prompt` and the like.
 */
export async function waitForState(
  lab: Lab,
  pid: number,
  state: string,
  options?: WaitOptions,
): Promise<ClaudeRecord> {
  return waitFor(
    `process ${pid} to be ${state}`,
    async () => {
      const record = await readRecord(lab, pid);
      return record && describe(record) === state ? record : undefined;
    },
    options,
  );
}

export interface RecordWatch {
  /** The states seen so far, without repeats, as in `waitForState`. */
  states: string[];
  stop(): Promise<void>;
}

/** Follows a process record and notes each change of state. */
export function watchRecord(lab: Lab, pid: number): RecordWatch {
  const states: string[] = [];
  const look = async () => {
    const record = await readRecord(lab, pid);
    const state = record && describe(record);
    if (state !== undefined && state !== states.at(-1)) states.push(state);
  };
  const stopping = new AbortController();
  const ended = (async () => {
    while (!stopping.signal.aborted) {
      await look();
      await pause(POLL_MS);
    }
  })();
  return {
    states,
    async stop() {
      stopping.abort();
      await ended;
      await look(); // what the test has waited for may be newer than the last look
    },
  };
}

/** `-` is a record without a status, as it is for the first 0.2 s. */
function describe({ status = "-", waitingFor }: ClaudeRecord): string {
  return waitingFor === undefined ? status : `${status}: ${waitingFor}`;
}

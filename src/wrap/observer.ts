import { ClaudeStream } from "../core/agents/claude/stream.ts";
import { contentHeads, PROMPT_HEAD } from "../core/agents/claude/stream-line.ts";
import { MAX_LINE_BYTES } from "../core/protocol/limits.ts";
import { sessionIn } from "./arguments.ts";
import { Lines } from "./lines.ts";
import { Outbox } from "./outbox.ts";
import { Reporter } from "./reporter.ts";

/** Watches what goes to Claude and comes from it, and reports. None of it ever throws. */
export interface Observer {
  sawInput(chunk: Buffer): void;
  sawOutput(chunk: Buffer): void;
  /** Claude is gone. */
  finish(): void;
  /** Calls back when the last reports have left, at the latest after `patienceMs`. */
  flush(patienceMs: number, done: () => void): void;
}

/**
 * Watches one Claude.
 *
 * @param args  Claude's arguments.
 * @param entrypoint  What started Claude, as Claude itself is told.
 */
export function observeClaude({
  pid,
  args,
  cwd,
  entrypoint,
  socketPath,
}: {
  pid: number;
  args: readonly string[];
  cwd: string | undefined;
  entrypoint: string | undefined;
  socketPath: string;
}): Observer {
  const stream = new ClaudeStream({ ...sessionIn(args), cwd, model: undefined });
  const outbox = new Outbox(socketPath);
  const reporter = new Reporter({ stream, outbox, pid, entrypoint });
  const input = new Lines({
    maxBytes: MAX_LINE_BYTES,
    quietHeads: [Buffer.from(PROMPT_HEAD)],
    isQuiet: () => false, // but a prompt is told by its head, too
    onLine: (line) => read(line, (it) => stream.noteInput(it, Date.now())),
    onLongLine: (head) => {
      if (head.toString() === PROMPT_HEAD) stream.notePrompt(Date.now()); // with pictures, perhaps
    },
  });
  const output = new Lines({
    maxBytes: MAX_LINE_BYTES,
    quietHeads: contentHeads.map((head) => Buffer.from(head)),
    isQuiet: () => stream.isContentKnown,
    onLine: (line) => read(line, (it) => stream.noteOutput(it, Date.now())),
    onLongLine: () => {},
  });
  const saw = (lines: Lines) => (chunk: Buffer) =>
    quietly(() => {
      lines.push(chunk);
      reporter.report();
    });
  quietly(() => reporter.report());
  return {
    sawInput: saw(input),
    sawOutput: saw(output),
    finish: () => quietly(() => reporter.finish()),
    flush: (patienceMs, done) => outbox.flush(patienceMs, done),
  };
}

/** Hands on what a line says; what is no JSON is nobody's business. */
function read(line: Buffer, note: (value: unknown) => void): void {
  let value: unknown;
  try {
    value = JSON.parse(line.toString());
  } catch {
    return; // half a line, or something else that begins with a brace
  }
  note(value);
}

/** Whatever goes wrong in here, Claude runs on as if nobody watched. */
function quietly(act: () => void): void {
  try {
    act();
  } catch {
    // a bug of ours, and there is nobody to tell: stderr is Claude's
  }
}

import { ToolError } from "../core/protocol/errors.ts";
import { MAX_LINE_BYTES } from "../core/protocol/limits.ts";

/** An error is for people; a message that quotes a huge payload is cut. */
const MAX_ERROR_CHARS = 1000;

/** The line that answers with a payload, given as JSON text; an error line when it is too long. */
export function okLine(payload: string): string {
  const line = `{"ok":true,"payload":${payload}}`;
  if (Buffer.byteLength(line) <= MAX_LINE_BYTES) return `${line}\n`;
  return errorLine(`the answer is longer than ${MAX_LINE_BYTES} bytes`);
}

/** The line that refuses a request. */
export function errorLine(message: string): string {
  return `${JSON.stringify({ ok: false, error: message.slice(0, MAX_ERROR_CHARS) })}\n`;
}

/** The words for a failed request; `undefined` for a bug, whose message may quote a payload. */
export const wordsFor = (error: unknown): string | undefined =>
  error instanceof ToolError ? error.message : undefined;

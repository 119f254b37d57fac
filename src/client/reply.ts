import { ToolError } from "../core/protocol/errors.ts";

/** A reply line, read. `text` is the payload as the daemon wrote it, byte for byte. */
export type ReplyLine = { ok: true; text: string; payload: unknown } | { ok: false; error: string };

const HEAD = '{"ok":true,"payload":';

/**
 * Reads one reply line.
 *
 * @throws ToolError `brokenReply` when it is no reply.
 */
export function readReply(line: Uint8Array): ReplyLine {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(line);
    return asWritten(text) ?? asMeant(JSON.parse(text));
  } catch (cause) {
    if (cause instanceof ToolError) throw cause;
    throw broken(cause);
  }
}

/** What lies between our daemon's own head and tail is the payload's text, if it is JSON itself. */
function asWritten(line: string): ReplyLine | undefined {
  if (!line.startsWith(HEAD) || !line.endsWith("}")) return undefined;
  const text = line.slice(HEAD.length, -1);
  try {
    return { ok: true, text, payload: JSON.parse(text) };
  } catch {
    return undefined; // another daemon's spelling, or no JSON at all
  }
}

function asMeant(reply: unknown): ReplyLine {
  if (typeof reply !== "object" || reply === null || !("ok" in reply)) throw broken();
  if (reply.ok === false)
    return { ok: false, error: "error" in reply ? String(reply.error) : "no reason given" };
  if (reply.ok !== true || !("payload" in reply)) throw broken();
  return { ok: true, text: JSON.stringify(reply.payload), payload: reply.payload };
}

const broken = (cause?: unknown) =>
  new ToolError("brokenReply", "Cannot understand the daemon's answer: it is no reply", { cause });

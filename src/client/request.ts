import { ToolError } from "../core/protocol/errors.ts";
import { MAX_LINE_BYTES } from "../core/protocol/limits.ts";
import type { CallOp, Payload, Reply, Service } from "../core/protocol/ops.ts";
import { type ConnectOptions, connect, type DaemonLines } from "./connect.ts";
import { type ReplyLine, readReply } from "./reply.ts";

/**
 * Asks the daemon once and returns its answer.
 *
 * @throws ToolError `daemonUnreachable`, `daemonRefused` with the daemon's words, `brokenReply`,
 * `lineTooLong` when the request is.
 */
export async function request<S extends Service, O extends CallOp<S>>(
  socketPath: string,
  service: S,
  op: O,
  payload: Payload<S, O>,
  options: ConnectOptions = {},
): Promise<Reply<S, O>> {
  const reply = await askOnce(socketPath, requestText(service, op, payload), options);
  // The op ties the payload's type to its name, and this daemon speaks the same table.
  return reply.payload as Reply<S, O>;
}

/** The same as `request`, as the text of the payload, byte for byte as it came. */
export async function requestLine<S extends Service, O extends CallOp<S>>(
  socketPath: string,
  service: S,
  op: O,
  payload: Payload<S, O>,
  options: ConnectOptions = {},
): Promise<string> {
  return (await askOnce(socketPath, requestText(service, op, payload), options)).text;
}

/** Writes one request line. */
export function requestText(service: string, op: string, payload: unknown): string {
  const line = JSON.stringify({ service, op, payload });
  if (Buffer.byteLength(line) > MAX_LINE_BYTES)
    throw new ToolError(
      "lineTooLong",
      `Cannot send ${service} ${op}: it is longer than ${MAX_LINE_BYTES} bytes`,
    );
  return `${line}\n`;
}

/** Asks on a connection that stays open; `undefined` when the daemon closes it instead. */
export async function ask(lines: DaemonLines, text: string): Promise<ReplyLine | undefined> {
  lines.write(text);
  const line = await lines.next("bounded");
  return line && readReply(line);
}

async function askOnce(
  socketPath: string,
  text: string,
  options: ConnectOptions,
): Promise<ReplyLine & { ok: true }> {
  const lines = await connect(socketPath, options);
  try {
    const reply = await ask(lines, text);
    if (!reply)
      throw new ToolError(
        "daemonUnreachable",
        `Cannot reach the daemon at ${socketPath}: it closed the connection without an answer`,
      );
    if (!reply.ok) throw new ToolError("daemonRefused", `The daemon refuses: ${reply.error}`);
    return reply;
  } finally {
    lines.close();
  }
}

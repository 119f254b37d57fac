import { ToolError } from "../core/protocol/errors.ts";
import type { Service, StreamOp } from "../core/protocol/ops.ts";
import type { Clock } from "../platform/clock.ts";
import { connect, type DaemonLines } from "./connect.ts";
import { type ReplyLine, readReply } from "./reply.ts";
import { requestText } from "./request.ts";

/**
 * How a subscription ended. `closed`: the connection is gone, or said something that is no frame;
 * `refused`: this daemon does not stream, and will not until it is another one.
 */
export type SubscriptionEnd = "closed" | "aborted" | "refused";

export type SubscribeOptions = {
  /** Takes each frame's payload, as the text the daemon wrote. */
  onFrame: (payloadText: string) => void;
  signal: AbortSignal;
  /** How long the daemon may take to accept, and to send the first frame. */
  timeoutMs?: number | undefined;
  clock?: Clock | undefined;
};

/**
 * Subscribes once, and resolves when that ends.
 *
 * @throws ToolError `daemonUnreachable` when there was no first frame.
 */
export async function subscribe<S extends Service>(
  socketPath: string,
  service: S,
  op: StreamOp<S>,
  { onFrame, signal, timeoutMs, clock }: SubscribeOptions,
): Promise<SubscriptionEnd> {
  let lines: DaemonLines | undefined;
  try {
    lines = await connect(socketPath, { timeoutMs, signal, clock });
    lines.write(requestText(service, op, null));
    let frame = await frameOf(lines, "bounded");
    while (frame?.ok) {
      onFrame(frame.text);
      // A subscription is silent while nothing changes, so from here silence says nothing.
      frame = await frameOf(lines, "endless");
    }
    return frame ? "refused" : "closed";
  } catch (error) {
    if (signal.aborted && error === signal.reason) return "aborted";
    throw error;
  } finally {
    lines?.close();
  }
}

/** The next frame; `undefined` at the end of the stream, which a torn or strange line also is. */
async function frameOf(
  lines: DaemonLines,
  patience: "bounded" | "endless",
): Promise<ReplyLine | undefined> {
  try {
    const line = await lines.next(patience);
    return line && readReply(line);
  } catch (error) {
    if (error instanceof ToolError && error.code === "brokenReply") return undefined;
    throw error;
  }
}

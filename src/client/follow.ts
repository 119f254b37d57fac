import { ToolError } from "../core/protocol/errors.ts";
import type { CallOp, Service, StreamOp } from "../core/protocol/ops.ts";
import { type Clock, systemClock, wait } from "../platform/clock.ts";
import { type Random, systemRandom } from "../platform/random.ts";
import { connect } from "./connect.ts";
import { ask, requestText } from "./request.ts";
import { subscribe } from "./subscribe.ts";

/** The first retry comes soon: most often the daemon is being restarted. */
const FIRST_RETRY_MS = 1000;

/** A daemon that stays away is looked for this often, so that it is found without being missed. */
const LAST_RETRY_MS = 10_000;

/** How often a daemon that does not stream is asked. */
const POLL_MS = 2000;

/** `lost`: what was shown last may be out of date. `polling`: current, but only now and then. */
export type FollowState = "connected" | "lost" | "polling";

export type FollowOptions<S extends Service> = {
  service: S;
  /** The op that streams. */
  stream: StreamOp<S>;
  /** The op that answers once with what a frame holds, for a daemon that does not stream. */
  poll: CallOp<S>;
  onFrame: (payloadText: string) => void;
  /** Called when the state changes, before the first frame of that state. */
  onState: (state: FollowState) => void;
  /** Ends it; the only way to. */
  signal: AbortSignal;
  clock?: Clock;
  random?: Random;
};

/**
 * Keeps a subscription alive until `signal` aborts: reconnects with growing, jittered pauses of
 * 0.5 to 10 s, and polls a daemon that refuses to stream until that daemon goes away.
 */
export async function follow<S extends Service>(
  socketPath: string,
  options: FollowOptions<S>,
): Promise<void> {
  const { service, stream, signal, clock = systemClock, random = systemRandom } = options;
  let known: FollowState | undefined;
  let failures = 0;
  const tell = (state: FollowState) => {
    if (state !== known) options.onState(state);
    known = state;
  };
  const frameIn = (state: FollowState) => (text: string) => {
    failures = 0;
    tell(state);
    options.onFrame(text);
  };

  while (!signal.aborted) {
    const end = await unlessUnreachable(() =>
      subscribe(socketPath, service, stream, { onFrame: frameIn("connected"), signal, clock }),
    );
    if (end === "refused") {
      tell("polling");
      await unlessUnreachable(() => poll(socketPath, options, clock, frameIn("polling")));
    }
    if (signal.aborted) return;
    tell("lost");
    await wait(clock, retryMs(failures++, random), signal);
  }
}

/** Half of each pause is random, so that a daemon that comes back is not met by all at once. */
function retryMs(failures: number, random: Random): number {
  return Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures) * (0.5 + random() / 2);
}

/** Asks again and again on one connection, whose end tells that the daemon has gone. */
async function poll<S extends Service>(
  socketPath: string,
  { service, poll: op, signal }: FollowOptions<S>,
  clock: Clock,
  onFrame: (payloadText: string) => void,
): Promise<void> {
  const lines = await connect(socketPath, { signal, clock });
  try {
    let last: string | undefined;
    for (;;) {
      const reply = await ask(lines, requestText(service, op, null));
      if (!reply) return;
      if (reply.ok && reply.text !== last) {
        last = reply.text;
        onFrame(reply.text);
      }
      await wait(clock, POLL_MS, signal);
    }
  } catch (error) {
    if (signal.aborted && error === signal.reason) return;
    throw error;
  } finally {
    lines.close();
  }
}

/** A daemon that cannot be reached or talks nonsense is one to try again; all else is a bug. */
async function unlessUnreachable<T>(run: () => Promise<T>): Promise<T | undefined> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof ToolError) return undefined;
    throw error;
  }
}

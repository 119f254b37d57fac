import { type FollowState, follow } from "../client/follow.ts";
import { request } from "../client/request.ts";
import { type ErrorCode, ToolError } from "../core/protocol/errors.ts";
import type { SocketChoice } from "../platform/paths.ts";
import type { EmbeddedDaemon, World } from "./world.ts";

/**
 * How long a lost daemon may stay away before one is started in its place. A restart takes less, so
 * it is not answered by a daemon of this, perhaps older, version.
 */
const TAKEOVER_MS = 1500;

export type ReachOptions = {
  choice: SocketChoice;
  world: Pick<World, "clock" | "startDaemon">;
  /** Ends it, and the daemon that it started. */
  signal: AbortSignal;
};

export type FollowOptions = ReachOptions & {
  /** Takes each snapshot, as the text that the daemon wrote. */
  onFrame: (payloadText: string) => void;
  onState: (state: FollowState) => void;
  /** Told when a daemon starts and when it ends in this process. */
  onEmbedded: (isEmbedded: boolean) => void;
};

/**
 * Makes sure that a daemon answers: where everybody looks, one is started in this process when
 * there is none. Returns the one that was started.
 *
 * @throws ToolError `daemonUnreachable` when the socket was given, or why a daemon could not start.
 */
export async function reachDaemon(options: ReachOptions): Promise<EmbeddedDaemon | undefined> {
  const { choice, world, signal } = options;
  try {
    await request(choice.path, "daemon", "ping", null, { signal, clock: world.clock });
    return undefined;
  } catch (error) {
    if (signal.aborted) return undefined;
    if (choice.given || !isFailure(error, "daemonUnreachable")) throw error;
  }
  try {
    const { path: socketPath, isDefault } = choice;
    return await world.startDaemon({ socketPath, isDefault, signal });
  } catch (error) {
    if (isFailure(error, "daemonRunning")) return undefined; // somebody else was faster
    throw error;
  }
}

/**
 * Follows the sessions until the signal aborts, whatever becomes of the daemon: it is waited for,
 * and where everybody looks, replaced by one in this process when it stays away.
 *
 * @throws ToolError what `reachDaemon` throws, for the first daemon only.
 */
export async function followSessions(options: FollowOptions): Promise<void> {
  const { signal, onEmbedded } = options;
  const ends: Promise<unknown>[] = [];
  const reach = async () => {
    const embedded = await reachDaemon(options);
    if (!embedded) return;
    onEmbedded(true);
    ends.push(embedded.done.then(() => onEmbedded(false)));
  };
  await reach();
  while (!signal.aborted) {
    await followUntilMissed(options);
    if (!signal.aborted) await reach().catch(unlessFailure);
  }
  await Promise.all(ends);
}

/** Follows until the signal aborts or a daemon that can be replaced has been away for too long. */
async function followUntilMissed(options: FollowOptions): Promise<void> {
  const { choice, world, signal, onFrame, onState } = options;
  const missed = new AbortController();
  let back = new AbortController();
  const watchOver = (state: FollowState) => {
    back.abort();
    onState(state);
    if (state !== "lost" || choice.given) return;
    back = new AbortController();
    world.clock.after(TAKEOVER_MS, () => missed.abort(), back.signal);
  };
  await follow(choice.path, {
    service: "sessions",
    stream: "subscribe",
    poll: "list",
    onFrame,
    onState: watchOver,
    signal: AbortSignal.any([signal, missed.signal]),
    clock: world.clock,
  });
  back.abort();
}

const isFailure = (error: unknown, code: ErrorCode) =>
  error instanceof ToolError && error.code === code;

/** It is tried again, so only a bug is to be heard of. */
function unlessFailure(error: unknown): void {
  if (!(error instanceof ToolError)) throw error;
}

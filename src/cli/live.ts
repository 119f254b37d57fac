import { ToolError } from "../core/protocol/errors.ts";
import type { Entry } from "../core/protocol/session.ts";
import { shortenHome } from "../platform/paths.ts";
import { paintFor } from "./paint.ts";
import type { ScreenOut } from "./screen.ts";
import { followSessions, type ReachOptions } from "./source.ts";
import { type Key, openTerminal, stopJob } from "./terminal.ts";
import { screenLines, type View } from "./view.ts";
import type { World } from "./world.ts";

/** Ages are in seconds, so they are drawn each second. */
const TICK_MS = 1000;

export type LiveOptions = {
  choice: ReachOptions["choice"];
  all: boolean;
  world: World;
  out: ScreenOut;
  /** Ends it as `q` does. */
  signal: AbortSignal;
};

/** Shows the sessions live until somebody quits. */
export async function showLive(options: LiveOptions): Promise<void> {
  // Nothing runs while the job is stopped, so a daemon of ours must not seem to be there either.
  while ((await showUntilKey(options)) === "suspend") await stopJob(options.world.clock);
}

async function showUntilKey(options: LiveOptions): Promise<"quit" | "suspend"> {
  const { choice, all, world, out, signal } = options;
  const { stdout, clock, host } = world;
  const view: View = { link: "connecting" };
  const over = new AbortController();
  const shown = AbortSignal.any([signal, over.signal]);
  let how: "quit" | "suspend" = "quit";

  const draw = () =>
    screen.draw(
      screenLines(view, {
        all,
        now: clock.now(),
        width: stdout.columns || 80,
        height: stdout.rows || 24,
        shorten: (path) => shortenHome(path, host.home),
        paint: paintFor(stdout, host.env),
      }),
    );
  const show = (change: Partial<View>) => {
    Object.assign(view, change);
    if (!shown.aborted) draw();
  };
  const onKey = (key: Key) => {
    if (key === "redraw") {
      screen.forget();
      return draw();
    }
    how = key;
    over.abort();
  };
  const { screen, close } = openTerminal({ world, out, onKey, onStale: draw });
  const tick = () => {
    draw();
    clock.after(TICK_MS, tick, shown);
  };
  tick();
  // The terminal is given back at once, not when a daemon of ours has answered its last client.
  const closed = new Promise<void>((resolve) =>
    shown.addEventListener("abort", () => resolve(close()), { once: true }),
  );
  try {
    await followSessions({
      choice,
      world,
      signal: shown,
      onFrame: (text) => show({ entries: entriesOf(text) }),
      onState: (state) => show({ link: state === "lost" ? "lost" : "live" }),
      onEmbedded: (isEmbedded) => show({ embeddedAt: isEmbedded ? choice.path : undefined }),
    });
  } finally {
    over.abort();
    await closed;
  }
  return signal.aborted ? "quit" : how;
}

/**
 * Reads a snapshot.
 *
 * @throws ToolError `brokenReply` when it is none.
 */
function entriesOf(payloadText: string): Entry[] {
  const snapshot = JSON.parse(payloadText);
  if (!Array.isArray(snapshot?.sessions))
    throw new ToolError("brokenReply", "Cannot read the daemon's snapshot: it has no sessions");
  return snapshot.sessions;
}

import { EventEmitter } from "node:events";
import path from "node:path";
import { expect, test } from "vitest";
import { FakeClock } from "../../test/harness/fake-clock.ts";
import {
  fakeService,
  startTestDaemon,
  type TestDaemon,
  tempDir,
} from "../../test/harness/test-daemon.ts";
import { anEntry } from "../core/present/an-entry.ts";
import { formatTime } from "../core/protocol/time.ts";
import { Topic } from "../daemon/topic.ts";
import { currentHost } from "../platform/paths.ts";
import { showLive } from "./live.ts";
import type { World } from "./world.ts";

/** A terminal of 60 by 6 cells that keeps what is on it. */
class FakeTerminal {
  readonly stdout = Object.assign(new EventEmitter(), { isTTY: true, columns: 60, rows: 6 });
  readonly stdin = Object.assign(new EventEmitter(), {
    isTTY: true,
    isRaw: false,
    setRawMode: (raw: boolean) => {
      this.stdin.isRaw = raw;
    },
    pause: () => this.stdin,
    resume: () => this.stdin,
  });
  /** All that was written, escapes shown as `^`. */
  written = "";
  #wake = () => {};

  readonly out = (text: string, done: () => void) => {
    this.written += text.replaceAll("\x1b", "^");
    done();
    this.#wake();
  };

  /** The lines on it, without their styles. */
  lines(): string[] {
    const lines: string[] = [];
    const plain = this.written.replaceAll(/\^\[(?:[\d;]*m|\?\d+[hl])/g, "");
    for (const [what, row, line = ""] of plain.matchAll(/\^\[2J|\^\[(\d+);1H\^\[K([^^]*)/g))
      if (what === "^[2J") lines.length = 0;
      else lines[Number(row) - 1] = line;
    return Array.from(lines, (line) => line ?? "");
  }

  /** Resolves with the lines once they hold a text. */
  async shows(text: string): Promise<string[]> {
    while (!this.lines().some((line) => line.includes(text)))
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    return this.lines();
  }

  /** What happens to be written by `act`. */
  during(act: () => void): string {
    const before = this.written.length;
    act();
    return this.written.slice(before);
  }

  type(keys: string): void {
    this.stdin.emit("data", Buffer.from(keys));
  }
}

const startedAt = Date.UTC(2026, 0, 1);
const named = (name: string, fields: Parameters<typeof anEntry>[0] = {}) =>
  anEntry({ session_id: name, name, cwd: "/w", state_since: formatTime(startedAt), ...fields });

/** A live screen, and daemons that all show the same sessions. */
function aScreen({ given = false } = {}) {
  const socketPath = path.join(tempDir(), "daemon.sock");
  const clock = new FakeClock(startedAt);
  const terminal = new FakeTerminal();
  const { stdin, stdout } = terminal;
  let sessions = [named("one")];
  let topic: Topic | undefined;
  const embedded: TestDaemon[] = [];
  const startDaemon = (signal?: AbortSignal) => {
    const snapshot = () => JSON.stringify({ sessions });
    topic = new Topic({ snapshot, clock, resampleMs: 10_000 });
    const service = fakeService({ streams: { subscribe: topic } });
    return startTestDaemon(service, { socketPath, ...(signal && { signal }) });
  };
  const world = {
    clock,
    stdin,
    stdout,
    host: { ...currentHost(), env: {} },
    startDaemon: async ({ signal }: { signal: AbortSignal }) => {
      const daemon = await startDaemon(signal);
      embedded.push(daemon);
      return daemon;
    },
  } as unknown as World;
  const stop = new AbortController();
  return {
    ...terminal,
    terminal,
    clock,
    embedded,
    stop,
    startDaemon: () => startDaemon(),
    show: () =>
      showLive({
        choice: { path: socketPath, given, isDefault: !given },
        all: false,
        world,
        out: terminal.out,
        signal: stop.signal,
      }),
    set(...next: typeof sessions) {
      sessions = next;
      clock.advance(30);
      topic?.changed();
    },
  };
}

test("it shows what the daemon sends, as it sends it", async () => {
  const { terminal, startDaemon, show, set } = aScreen();
  await startDaemon();
  const shown = show();
  await terminal.shows("one");

  set(named("one"), named("two", { state: "waiting_for_input" }));
  expect(await terminal.shows("two")).toEqual([
    "2 session(s): 0 working, 1 waiting, 1 idle",
    "",
    "STATE          SINCE  AGENT   SESSION  DIRECTORY  MODEL",
    "? needs input  0s     claude  two      /w",
    "◦ idle         0s     claude  one      /w",
    "q quit",
  ]);

  terminal.type("q");
  await shown;
});

test("each second the ages are drawn, and of the screen only the lines that have one", async () => {
  const { terminal, startDaemon, show, clock } = aScreen();
  await startDaemon();
  const shown = show();
  await terminal.shows("one");

  const written = terminal.during(() => clock.advance(1000));
  expect(written).toBe("^[?2026h^[4;1H^[K◦ idle  1s     claude  one      /w^[?2026l");

  terminal.type("q");
  await shown;
});

test("after a resize all is drawn for the new size", async () => {
  const { terminal, startDaemon, show } = aScreen();
  await startDaemon();
  const shown = show();
  await terminal.shows("one");

  Object.assign(terminal.stdout, { columns: 16, rows: 4 });
  terminal.stdout.emit("resize");
  expect(terminal.lines()).toEqual(["1 session(s): 0…", "", "STATE  SINCE  S…", "q quit"]);

  terminal.type("q");
  await shown;
});

test.each(["q", "\x03", "xq"])("%j gives the terminal back as it was", async (keys) => {
  const { terminal, startDaemon, show, clock } = aScreen();
  const daemon = await startDaemon();
  const before = process.listeners("SIGCONT").length;
  const shown = show();
  await terminal.shows("one");
  expect(terminal.stdin.isRaw).toBe(true);

  terminal.type("\x1b[200~q"); // what a terminal sends by itself is no key
  terminal.type(keys);
  await shown;

  expect({
    end: terminal.written.slice(-"^[?7h^[?25h^[?1049l".length),
    isRaw: terminal.stdin.isRaw,
    listeners: [...terminal.stdin.eventNames(), ...terminal.stdout.eventNames()],
    continued: process.listeners("SIGCONT").length,
  }).toEqual({
    end: "^[?7h^[?25h^[?1049l",
    isRaw: false,
    listeners: [],
    continued: before,
  });
  await daemon.stop();
  expect(clock.pending).toBe(0);
});

test("without a daemon it runs one, says so, and stops it at the end", async () => {
  const { terminal, show, embedded, stop } = aScreen();
  const shown = show();
  const lines = await terminal.shows("one");
  expect(lines[1]).toMatch(/^the daemon runs in this window, at \//);

  stop.abort();
  await shown;
  expect(await embedded[0]?.done).toBe("stopped");
});

test("a daemon that is lost is told of, and replaced when it stays away", async () => {
  const { terminal, startDaemon, show, clock, embedded } = aScreen();
  const daemon = await startDaemon();
  const shown = show();
  await terminal.shows("one");

  await daemon.stop();
  const lines = await terminal.shows("daemon lost, reconnecting…");
  expect(lines[3]).toBe("◦ idle  0s     claude  one      /w");
  expect(terminal.written).toContain("^[2m◦ idle  0s     claude  one      /w^[0m");

  clock.advance(1500);
  await terminal.shows("the daemon runs in this window");
  expect(embedded).toHaveLength(1);

  terminal.type("q");
  await shown;
});

test("a daemon that comes back in time is not replaced", async () => {
  const { terminal, startDaemon, show, clock, embedded, set } = aScreen();
  const daemon = await startDaemon();
  const shown = show();
  await terminal.shows("one");
  await daemon.stop();
  await terminal.shows("daemon lost");

  await startDaemon();
  set(named("again"));
  clock.advance(1000);
  await terminal.shows("again");
  clock.advance(10_000);
  expect({ embedded, note: terminal.lines()[1] }).toEqual({ embedded: [], note: "" });

  terminal.type("q");
  await shown;
});

test("a daemon behind a given socket is waited for, never replaced", async () => {
  const { terminal, startDaemon, show, clock, embedded, set } = aScreen({ given: true });
  const daemon = await startDaemon();
  const shown = show();
  await terminal.shows("one");
  await daemon.stop();
  await terminal.shows("daemon lost");

  await startDaemon();
  set(named("again"));
  clock.advance(10_000);
  await terminal.shows("again");
  expect(embedded).toEqual([]);

  terminal.type("q");
  await shown;
});

test("a daemon that cannot be reached is an error, and leaves the terminal as it was", async () => {
  const { terminal, show } = aScreen({ given: true });
  await expect(show()).rejects.toMatchObject({ code: "daemonUnreachable" });
  expect(terminal.written).toMatch(/\^\[\?1049l$/);
  expect(terminal.stdin.isRaw).toBe(false);
});

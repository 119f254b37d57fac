import type { Socket } from "node:net";
import { onTestFinished, vi } from "vitest";
import { FakeDaemon } from "../../test/harness/fake-daemon.ts";
import { News } from "../../test/harness/program.ts";

type Handler = (event?: object, context?: object) => unknown;
export type Extension = (pi: { on(name: string, handler: Handler): unknown }) => void;
export type PiEvent = { type: string; [field: string]: unknown };

/** What the extension told the daemon in one request. */
export type Told = {
  op: "observe" | "end";
  payload: {
    session_id: string;
    at: string;
    event?: { stream_state: string };
    reason?: string;
    [field: string]: unknown;
  };
};

/** One run-time of pi, as an extension meets it: events go to its handlers one after another. */
export class FakePi {
  readonly #handlers = new Map<string, Handler[]>();
  /** Whatever a handler returned that pi could take for an instruction. */
  readonly returned: unknown[] = [];
  context: object;

  constructor(extension: Extension, context: object = aContext()) {
    this.context = context;
    extension({
      on: (name, handler) =>
        this.#handlers.set(name, [...(this.#handlers.get(name) ?? []), handler]),
    });
    onTestFinished(forgetSpeaker);
  }

  /** Resolves when pi would go on. */
  async emit(event: PiEvent | string, context = this.context): Promise<void> {
    const full = typeof event === "string" ? { type: event } : event;
    for (const handler of this.#handlers.get(full.type) ?? []) {
      const result = await handler(full, context);
      if (result !== undefined) this.returned.push(result);
    }
  }
}

/** Who speaks for the process is a global, as pi loads an extension several times. */
export function forgetSpeaker(): void {
  delete (globalThis as { [key: symbol]: unknown })[Symbol.for("omni-dev.pi.speaker")];
}

/** What pi hands its handlers; `isIdle` is asked again each time. */
export function aContext({
  id = "S1",
  file = "/pi/S1.jsonl",
  cwd = "/w/app",
  mode = "tui",
  model = "fake-1",
  isIdle = () => false,
}: {
  id?: string | undefined;
  file?: string | undefined;
  cwd?: string | undefined;
  mode?: string | undefined;
  model?: string;
  isIdle?: () => boolean;
} = {}): object {
  return {
    cwd,
    mode,
    hasUI: mode === "tui" || mode === "rpc",
    model: { id: model, name: "A model" },
    sessionManager: { getSessionId: () => id, getSessionFile: () => file },
    isIdle,
  };
}

/** A daemon that notes what it is told, and answers unless it is told to keep silent. */
export class ListeningDaemon {
  readonly told: Told[] = [];
  readonly daemon: FakeDaemon;
  readonly #news = new News();
  /** A daemon that hangs takes requests in and answers none. */
  hangs = false;

  private constructor() {
    const answer = (socket: Socket, line: string) => {
      this.told.push(JSON.parse(line));
      this.#news.tell();
      if (!this.hangs) socket.write('{"ok":true,"payload":{"ok":true}}\n');
    };
    this.daemon = new FakeDaemon(answer, (socket) => socket.on("close", () => this.#news.tell()));
  }

  static async start(): Promise<ListeningDaemon> {
    const listening = new ListeningDaemon();
    await listening.daemon.listen();
    return listening;
  }

  /** Resolves when it was told so many things, and has let go of who told it. */
  async hears(count: number): Promise<void> {
    const isOver = () => this.hangs || this.daemon.connections === 0;
    const isEnough = () => (this.told.length >= count && isOver()) || undefined;
    await this.#news.until(isEnough, () => this.words.join("\n"));
  }

  /** What it was told so far, in words: `working`, `ended`. */
  get words(): string[] {
    return this.told.map(wordFor);
  }
}

export const wordFor = ({ op, payload }: Told): string =>
  op === "end" ? "ended" : (payload.event?.stream_state ?? "nothing");

/** A daemon that pi finds, at a time that stands still until a test moves it: second 1000. */
export async function aDaemonInStoppedTime(): Promise<ListeningDaemon> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"], now: 1_000_000 });
  const daemon = await ListeningDaemon.start();
  vi.stubEnv("OMNI_DEV_SOCKET", daemon.daemon.socketPath);
  onTestFinished(() => {
    vi.useRealTimers();
    vi.unstubAllEnvs();
  });
  return daemon;
}

export const aStart = (reason = "startup"): PiEvent => ({ type: "session_start", reason });

export const aShutdown = (reason = "quit", more: object = {}): PiEvent => ({
  type: "session_shutdown",
  reason,
  ...more,
});

/** A pi of which the daemon has heard. */
export async function startedPi(
  extension: Extension,
  daemon: ListeningDaemon,
  context: object = aContext(),
): Promise<FakePi> {
  const count = daemon.told.length;
  const pi = new FakePi(extension, context);
  await pi.emit(aStart());
  await daemon.hears(count + 1);
  return pi;
}

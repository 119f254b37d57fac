import { EventEmitter } from "node:events";
import path from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { build } from "esbuild";
import type { Line } from "./captures.ts";

/** What the extension sent, and when. */
export type Told = {
  at: number;
  op: "observe" | "end";
  payload: { session_id: string; [field: string]: unknown };
};

type Handler = (event: unknown, context: unknown) => unknown;
type Extension = (pi: { on(name: string, handler: Handler): void }) => void;

const SOURCE = path.resolve("extensions/pi/omni-dev-sessions.ts");
const TELL = Symbol.for("omni-dev.bench.tell");
const SPEAKER = Symbol.for("omni-dev.pi.speaker");
const shared = globalThis as { [key: symbol]: unknown };

/** In place of Node's sockets: what is written is noted at once, and answered. */
class FakeSocket extends EventEmitter {
  write(text: string): void {
    (shared[TELL] as (text: string) => void)(text);
    this.emit("data", "");
  }
  destroy(): void {
    this.emit("close");
  }
  unref(): void {}
}

/**
 * Runs the real extension with what a real pi told its extensions. Only the socket is another one,
 * and the time of day is the captures'.
 */
export async function runExtension(events: readonly Line[]): Promise<Told[]> {
  const told: Told[] = [];
  const realNow = Date.now;
  let now = 0;
  shared[TELL] = (text: string) => {
    const { op, payload } = JSON.parse(text);
    told.push({ at: now, op, payload });
  };
  Date.now = () => now;
  try {
    const load = await extension();
    let handlers = new Map<string, Handler[]>();
    for (const { ts, event, payload, ctx } of events) {
      now = ts;
      if (event === "(factory)") {
        handlers = new Map();
        load({
          on: (name, handler) => handlers.set(name, [...(handlers.get(name) ?? []), handler]),
        });
        continue;
      }
      for (const handler of handlers.get(String(event)) ?? [])
        void handler(payload, contextOf(ctx as Context | undefined));
      for (let i = 0; i < 3; i += 1) await turn(); // the extension sends one report after another
    }
  } finally {
    Date.now = realNow;
    delete shared[SPEAKER];
  }
  return told;
}

type Context = {
  sessionId: string;
  sessionFile: string;
  cwd: string;
  mode: string;
  isIdle: boolean;
};

const contextOf = (ctx: Context | undefined) => ({
  cwd: ctx?.cwd,
  mode: ctx?.mode,
  sessionManager: { getSessionId: () => ctx?.sessionId, getSessionFile: () => ctx?.sessionFile },
  isIdle: () => ctx?.isIdle,
});

let loaded: Promise<Extension> | undefined;

function extension(): Promise<Extension> {
  loaded ??= (async () => {
    const { outputFiles } = await build({
      entryPoints: [SOURCE],
      bundle: true,
      write: false,
      format: "esm",
      platform: "node",
      plugins: [
        {
          name: "socket",
          setup: ({ onResolve, onLoad }) => {
            onResolve({ filter: /^node:net$/ }, () => ({ path: "net", namespace: "bench" }));
            onLoad({ filter: /.*/, namespace: "bench" }, () => ({
              contents:
                'export const connect = () => globalThis[Symbol.for("omni-dev.bench.connect")]();',
            }));
          },
        },
      ],
    });
    shared[Symbol.for("omni-dev.bench.connect")] = () => new FakeSocket();
    const text = Buffer.from(outputFiles[0]?.contents ?? []).toString("base64");
    const module = (await import(`data:text/javascript;base64,${text}`)) as { default: Extension };
    return module.default;
  })();
  return loaded;
}

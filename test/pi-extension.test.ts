import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { transform } from "esbuild";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  aContext,
  aShutdown,
  aStart,
  type Extension,
  FakePi,
  ListeningDaemon,
  type PiEvent,
  type Told,
  wordFor,
} from "../extensions/pi/fake-pi.ts";
import { installPiExtension } from "../src/install/pi-extension.ts";
import { PATIENCE_MS, Program, root } from "./harness/program.ts";
import { tempDir } from "./harness/test-daemon.ts";

// The file as it is packaged and installed: with what real pi 1.6.0 was seen to tell its extensions,
// in processes of its own, and with the real daemon.

const fixtures = path.join(root, "test", "fixtures", "pi");
const source = fs.readFileSync(path.join(root, "dist", "pi-extension.ts"), "utf8");

/** One line of a capture; `(factory)` is pi loading the extension. */
type Captured = {
  ts: number;
  event: string;
  payload?: PiEvent;
  ctx?: { sessionId: string; sessionFile: string; cwd: string; mode: string };
};

beforeEach(() => {
  vi.stubEnv("OMNI_DEV_SOCKET", "");
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

/** Installs the packaged file and makes it plain JavaScript, for not every Node here reads types. */
async function installed(socketPath: string): Promise<string> {
  const agentDir = tempDir();
  const report = installPiExtension({ agentDir, source, socketPath });
  expect(report.outcome).toBe("created");
  const { code } = await transform(fs.readFileSync(report.path, "utf8"), { loader: "ts" });
  const script = path.join(agentDir, "extension.mjs");
  fs.writeFileSync(script, code);
  return pathToFileURL(script).href;
}

async function load(socketPath: string): Promise<Extension> {
  const module: { default: Extension } = await import(await installed(socketPath));
  return module.default;
}

const linesOf = (file: string) => fs.readFileSync(file, "utf8").trim().split("\n");
const captured = (name: string): Captured[] =>
  linesOf(path.join(fixtures, "events", `${name}.ndjson`)).map((line) => JSON.parse(line));
const names = fs
  .readdirSync(path.join(fixtures, "events"))
  .filter((file) => file.endsWith(".ndjson"))
  .map((file) => path.basename(file, ".ndjson"));

/** `de30 working`, `de30 idle headless`, `de30 ended (quit)`. */
function inWords(told: Told): string {
  const { session_id, headless, reason } = told.payload;
  const id = session_id.slice(-4);
  return `${id} ${wordFor(told)}${headless ? " headless" : ""}${reason ? ` (${reason})` : ""}`;
}

describe("what real pi told its extensions leads to the right reports", () => {
  test.each(names)("%s", async (name) => {
    const events = captured(name);
    const expected = linesOf(path.join(fixtures, "events", `${name}.expected.txt`));
    const daemon = await ListeningDaemon.start();
    const extension = await load(daemon.daemon.socketPath);
    const seen: string[] = [];
    let pi: FakePi | undefined;
    for (const { ts, event, payload, ctx } of events) {
      if (event === "(factory)") {
        pi = new FakePi(extension);
        continue;
      }
      const label = `${ts - (events[0]?.ts ?? 0)} ${event}: `;
      const isReported = expected[seen.length]?.startsWith(label);
      const { sessionId: id, sessionFile: file, cwd, mode } = ctx ?? {};
      await pi?.emit(payload ?? event, aContext({ id, file, cwd, mode }));
      if (isReported) await daemon.hears(seen.length + 1);
      seen.push(...daemon.told.slice(seen.length).map((told) => label + inWords(told)));
    }
    expect(seen).toEqual(expected);
    expect(pi?.returned).toEqual([]);
  });
});

test.each(fs.readdirSync(path.join(fixtures, "osc")))("pi's own status line agrees: %s", (file) => {
  const name = path.basename(file, ".ndjson");
  const lines = linesOf(path.join(fixtures, "events", `${name}.expected.txt`));
  const reported = lines.map((line) => /: \w+ (\w+)/.exec(line)?.[1] ?? "");
  // An end in the middle is that of a session which another one follows: pi shows the one it is in.
  const shown = reported.filter((word, i) => word !== "ended" || i === reported.length - 1);
  expect(withoutRepeats(shown)).toEqual(withoutRepeats(statusLine(name)));
});

const wordOfStatus: Record<string, string> = {
  "idle:": "idle",
  "done:": "idle",
  "error:": "idle",
  "working:": "working",
  "blocked:permission": "waiting_for_permission",
  "blocked:question": "waiting_for_input",
  "clear:": "ended",
};

/** What pi told its terminal (OSC 7501), in our words, without what stood there for no time. */
function statusLine(name: string): (string | undefined)[] {
  const told: { ts: number; osc: number; text: string }[] = linesOf(
    path.join(fixtures, "osc", `${name}.ndjson`),
  ).map((line) => JSON.parse(line));
  const states = told.filter(({ osc }) => osc === 7501);
  return states
    .filter(({ ts }, i) => ts !== states[i + 1]?.ts)
    .map(({ text }) => {
      const fields = new Map(text.split(":").map((it) => it.split("=") as [string, string]));
      return wordOfStatus[`${fields.get("state")}:${fields.get("kind") ?? ""}`];
    });
}

const withoutRepeats = (words: (string | undefined)[]) =>
  words.filter((word, i) => word !== words[i - 1]);

test("nothing of what pi tells of prompts, answers and tools is sent", async () => {
  const daemon = await ListeningDaemon.start();
  const extension = await load(daemon.daemon.socketPath);
  const pi = new FakePi(extension);
  for (const [i, { event, payload }] of names.flatMap(captured).entries()) {
    if (event === "session_shutdown") continue; // its reason is sent
    const { type, reason, ...others } = payload ?? { type: event };
    // Another model each time: so each event leads to a report.
    const model = { id: String(i), name: CANARY };
    const context = { ...aContext(), systemPrompt: CANARY, model };
    await pi.emit({ ...(spoilt(others) as object), type, reason, more: CANARY }, context);
    await pi.emit("model_select", context);
    while (daemon.told.at(-1)?.payload.model !== model.id)
      await daemon.hears(daemon.told.length + 1);
  }
  await pi.emit(aShutdown("quit", { targetSessionFile: CANARY }));

  expect(new Set(daemon.words)).toEqual(new Set(["idle", "working", "waiting_for_input", "ended"]));
  expect(JSON.stringify(daemon.told)).not.toContain(CANARY);
});

const CANARY = "nobody may read this";

/** The same with every text in it replaced. */
function spoilt(value: unknown): unknown {
  if (typeof value === "string") return CANARY;
  if (Array.isArray(value)) return value.map(spoilt);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, it]) => [key, spoilt(it)]));
}

test("the socket that was installed is found, whatever its path; the environment's wins", async () => {
  const odd = path.join(tempDir(), 'it\'s "odd" \\ $& `{x}`\n\u2028 */');
  fs.mkdirSync(odd);
  const daemon = await ListeningDaemon.start();
  const link = path.join(odd, "d.sock");
  fs.symlinkSync(daemon.daemon.socketPath, link);
  const pi = new FakePi(await load(link));
  await pi.emit("session_start");
  await daemon.hears(1);

  const other = await ListeningDaemon.start();
  vi.stubEnv("OMNI_DEV_SOCKET", other.daemon.socketPath);
  const next = new FakePi(await load(link));
  await next.emit(aStart("reload"));
  await other.hears(1);
  expect(daemon.words).toEqual(["idle"]);
});

const S1 = { id: "S1", file: "/pi/S1.jsonl" };
const S2 = { id: "S2", file: "/pi/S2.jsonl" };
const aRun = { type: "agent_start" };

/** A process in which pi's part is played: for each session, the extension is loaded anew. */
async function aProcess(
  program: Program,
  socket: string,
  sessions: [session: { id: string; file: string }, ...events: PiEvent[]][],
  { stays = false } = {},
) {
  const script = path.join(tempDir(), "pi.mjs");
  fs.writeFileSync(
    script,
    `import extension from ${JSON.stringify(await installed(socket))};
    for (const [{ id, file }, ...events] of ${JSON.stringify(sessions)}) {
      const handlers = new Map();
      extension({ on: (name, handler) => handlers.set(name, handler) });
      const sessionManager = { getSessionId: () => id, getSessionFile: () => file };
      const context = { sessionManager, cwd: process.cwd(), mode: "tui", isIdle: () => false };
      for (const event of events) await handlers.get(event.type)(event, context);
    }
    if (${stays}) process.stdin.resume();
    console.log("done");`,
  );
  return program.spawn([process.execPath, script]);
}

/** Resolves when the daemon has seen a process alive: one that was replaced moves states only then. */
async function isLookedAt(program: Program, pid: number | undefined): Promise<void> {
  await program.observe("X", "session_start", { pid });
  await program.observe("X", "stop", { pid: process.pid });
  const isHeard = async () => {
    await program.observe("X", "user_prompt_submit", { pid });
    const row = (await program.list()).find(({ session_id }) => session_id === "X");
    expect(row?.state).toBe("working");
  };
  await vi.waitFor(isHeard, { timeout: PATIENCE_MS });
}

describe("in a process of its own", () => {
  test.each(["is not there", "hangs"])(
    "it never keeps pi from exiting: the daemon %s",
    async (how) => {
      const program = new Program();
      const daemon = await ListeningDaemon.start();
      daemon.hangs = true;
      const socket = how === "hangs" ? daemon.daemon.socketPath : program.socket;
      for (const events of [
        [aStart("startup"), aRun],
        [aStart("startup"), aRun, aShutdown("quit")],
      ]) {
        const pi = await aProcess(program, socket, [[S1, ...events]]);
        expect(await pi.ended()).toEqual({ exit: 0, stdout: "done\n", stderr: "" });
      }
    },
  );

  test("the daemon lists it, and drops it when the process is killed", async () => {
    const program = new Program();
    await program.run("daemon", "start");
    const pi = await aProcess(program, program.socket, [[S1, aStart("startup"), aRun]], {
      stays: true,
    });
    await program.sees(([row]) => row?.state === "working");
    expect(await program.list()).toMatchObject([
      {
        session_id: "S1",
        agent: "pi",
        state: "working",
        last_event: { stream_state: "working" },
        cwd: fs.realpathSync(program.home),
        transcript_path: "/pi/S1.jsonl",
        pid: pi.child.pid,
      },
    ]);
    await isLookedAt(program, pi.child.pid);
    pi.child.kill("SIGKILL");
    await program.sees((rows) => !rows.some(({ session_id }) => session_id === "S1"));
  });

  test("/new and /reload in one process show what they are", async () => {
    const program = new Program();
    await program.run("daemon", "start");
    const pi = await aProcess(
      program,
      program.socket,
      [
        [S1, aStart("startup"), aRun, { type: "agent_settled" }, aShutdown("new")],
        [S2, aStart("new"), aRun, { type: "agent_settled" }, aShutdown("reload")],
        [S2, aStart("reload"), aRun],
      ],
      { stays: true },
    );
    await pi.line();
    await program.sees((rows) => rows.length === 2 && rows[1]?.state === "working");
    const states = async () =>
      (await program.list()).map(({ session_id, state }) => `${session_id} ${state}`);
    expect(await states()).toEqual(["S1 ended", "S2 working"]);
  });
});

test("after a restart of the daemon the next repetition brings the row back", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const program = new Program();
  await program.run("daemon", "start");
  const pi = new FakePi(await load(program.socket));
  await pi.emit("session_start");
  await program.sees(([row]) => row?.state === "idle");
  await program.run("daemon", "restart");
  expect(await program.list()).toEqual([]);
  vi.advanceTimersByTime(30_000);
  await program.sees(([row]) => row?.state === "idle");
  await pi.emit(aShutdown("quit"));
  await program.sees(([row]) => row?.state === "ended");
});

import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { FakeDaemon } from "./harness/fake-daemon.ts";
import { Program, root } from "./harness/program.ts";
import { script, Wrapped } from "./harness/wrapped.ts";

const ID = "22222222-2222-4222-8222-222222222222";

/** Stands for Claude: what stands behind a `!` on its input it writes; all else it reads and forgets. */
const fakeClaude = script(`
  let rest = "";
  process.stdin.setEncoding("utf8").on("data", (text) => {
    const lines = (rest + text).split("\\n");
    rest = lines.pop();
    for (const line of lines) if (line[0] === "!") process.stdout.write(line.slice(1) + "\\n");
  });`);

/** A fake Claude in the wrapper, and a person who uses it. */
class Conversation extends Wrapped {
  constructor(user: Program, ...args: string[]) {
    super(user, [...fakeClaude, "--", ...args]);
  }

  write(message: unknown): void {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** Has Claude say something, and waits until it is through. */
  async claudeSays(message: unknown): Promise<void> {
    const text = JSON.stringify(message);
    this.child.stdin.write(`!${text}\n`);
    await this.says(text);
  }

  async over(): Promise<void> {
    this.child.stdin.end();
    expect(await this.ended()).toEqual({ exit: 0, signal: null, stderr: "" });
  }
}

const prompt = { type: "user", message: { role: "user", content: "hello" } };
const init = { type: "system", subtype: "init", session_id: ID, cwd: "/w/a", model: "opus" };
const status = { type: "system", subtype: "status", status: "requesting", session_id: ID };
const ask = {
  type: "control_request",
  request_id: "r1",
  request: { subtype: "can_use_tool", tool_name: "Bash" },
};
const answer = { type: "control_response", response: { request_id: "r1", subtype: "success" } };
const result = { session_id: ID, is_error: false, result: "done", type: "result" };

const sees = (user: Program, fields: object) =>
  user.sees((sessions) =>
    sessions.some((entry) => {
      const wanted = Object.entries({ session_id: ID, agent: "claude", ...fields });
      return wanted.every(([key, value]) => entry[key] === value);
    }),
  );

test("the daemon shows each state, the process, and the end", async () => {
  const user = new Program();
  await user.run("daemon", "start");
  const claude = new Conversation(user);
  claude.write(prompt);
  expect(await user.list()).toEqual([]);
  await claude.claudeSays(init);
  await sees(user, { state: "working", cwd: "/w/a", model: "opus" });
  await claude.claudeSays(status);
  await claude.claudeSays(ask);
  await sees(user, { state: "waiting_for_permission" });
  claude.write(answer);
  await sees(user, { state: "working" });
  await claude.claudeSays(result);
  await sees(user, { state: "idle" });
  const [{ pid } = {}] = await user.list();
  expect(Number(pid)).toBeGreaterThan(0);
  expect(pid).not.toBe(claude.child.pid);
  await claude.over();
  await sees(user, { state: "ended" });
  await user.run("daemon", "stop");
});

test("a session that is resumed shows at once", async () => {
  const user = new Program();
  await user.run("daemon", "start");
  const claude = new Conversation(user, "--resume", ID);
  await sees(user, { state: "idle", cwd: fs.realpathSync(user.home) });
  await claude.over();
  await user.run("daemon", "stop");
});

test("a Claude that is killed ends its session, too", async () => {
  const user = new Program();
  await user.run("daemon", "start");
  const claude = new Conversation(user, "--session-id", ID);
  claude.write(prompt);
  await sees(user, { state: "working" });
  const [{ pid } = {}] = await user.list();
  process.kill(Number(pid), "SIGKILL");
  expect(await claude.ended()).toMatchObject({ exit: 137 });
  await sees(user, { state: "ended" });
  await user.run("daemon", "stop");
});

/** Talks for a while, and returns what came through. */
async function talk(claude: Conversation): Promise<string> {
  const messages = [init, status, ask, result];
  for (let i = 0; i < 20; i++) {
    claude.write(prompt);
    for (const message of messages) await claude.claudeSays({ ...message, i });
  }
  await claude.over();
  return claude.output.toString();
}

const said = (text: string) => text.trim().split("\n").length;

test("without a daemon, everything is as without the wrapper", async () => {
  expect(said(await talk(new Conversation(new Program())))).toBe(80);
});

test.each([
  ["that never answers", () => {}],
  ["that answers garbage", (socket: import("node:net").Socket) => socket.write("\xff\0{{{\n")],
  ["that hangs up", (socket: import("node:net").Socket) => socket.destroy()],
])("a daemon %s disturbs nothing", async (_, answer) => {
  const daemon = await new FakeDaemon(answer).listen();
  const user = new Program();
  user.env.OMNI_DEV_SOCKET = daemon.socketPath;
  expect(said(await talk(new Conversation(user)))).toBe(80);
  expect(daemon.asked.length).toBeGreaterThan(0);
});

test("nor does one that goes in the middle, or that stands still", async () => {
  const user = new Program();
  const daemon = user.start("daemon", "run", "--quiet");
  await until(() => fs.existsSync(user.socket));
  const first = new Conversation(user, "--resume", ID);
  await sees(user, { state: "idle" });
  daemon.child.kill("SIGSTOP");
  const second = new Conversation(user, "--resume", ID.replaceAll("2", "3"));
  expect([said(await talk(first)), said(await talk(second))]).toEqual([80, 80]);
  daemon.child.kill("SIGKILL");
  await daemon.ended();
  expect(said(await talk(new Conversation(user)))).toBe(80);
});

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate);
}

const CANARY = "canary-7f3b";

/** Puts the canary into every text but those that the state is read from, keys included. */
function spiked(value: unknown, key = ""): unknown {
  const known =
    /^(type|subtype|request_id|session_id|cwd|model|state|status|task_type|task_id|tool_name)$/;
  if (typeof value === "string") return known.test(key) ? value : `${CANARY} ${value}`;
  if (Array.isArray(value)) return value.map((it) => spiked(it, key));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, it]) => [name, spiked(it, name)]);
  return { ...Object.fromEntries(entries), [`${CANARY}-key`]: CANARY };
}

/** A real conversation, with the canary all over it. */
function conversation(): { dir: string; line: unknown }[] {
  const folder = path.join(root, "test/fixtures/claude/stream");
  const names = ["session-state-events", "subagent-permission", "set-model-multi-turn"];
  return names
    .flatMap((name) =>
      fs
        .readFileSync(path.join(folder, `${name}.ndjson`), "utf8")
        .trim()
        .split("\n"),
    )
    .map((line) => JSON.parse(line))
    .filter(({ dir }) => dir !== "record")
    .map(({ dir, line }) => ({ dir, line: spiked(line) }));
}

async function hold(claude: Conversation): Promise<void> {
  for (const { dir, line } of conversation()) {
    if (dir === "in") claude.write(line);
    else await claude.claudeSays(line);
  }
}

test("nothing of a conversation goes over the socket", async () => {
  const received: string[] = [];
  const daemon = await new FakeDaemon((socket, line) => {
    received.push(line);
    socket.write('{"ok":true}\n');
  }).listen();
  const user = new Program();
  user.env.OMNI_DEV_SOCKET = daemon.socketPath;
  const claude = new Conversation(user);
  await hold(claude);
  await claude.over();
  const states = received.map((line) => JSON.parse(line).payload.event?.stream_state);
  expect(states).toEqual(expect.arrayContaining(["working", "idle"]));
  expect(claude.output.toString()).toContain(CANARY);
  expect(received.filter((line) => line.includes(CANARY))).toEqual([]);
  const fields = new Set(received.flatMap((line) => Object.keys(JSON.parse(line).payload)));
  expect([...fields].sort()).toEqual(
    ["agent", "at", "cwd", "event", "model", "pid", "session_id"].sort(),
  );
});

test("nothing of a conversation is in the daemon's log, files or memory", async () => {
  const user = new Program();
  const daemon = user.start("daemon", "run");
  await until(() => fs.existsSync(user.socket));
  const claude = new Conversation(user);
  await hold(claude);
  await sees(user, { session_id: "73560a10-c46c-4a5b-8742-571d461bd7b9", state: "idle" });
  const memory = memoryOf(daemon.child.pid ?? 0);
  if (memory) {
    expect(memory.includes("73560a10-c46c-4a5b-8742-571d461bd7b9")).toBe(true);
    expect(memory.includes(CANARY)).toBe(false);
  }
  await claude.over();
  daemon.child.kill("SIGTERM");
  await once(daemon.child, "close");
  const texts = fs
    .readdirSync(user.home, { recursive: true, encoding: "utf8" })
    .map((name) => path.join(user.home, name))
    .filter((file) => fs.statSync(file).isFile())
    .map((file) => fs.readFileSync(file, "utf8"));
  expect([...texts, daemon.stdout, daemon.stderr].join("\n")).not.toContain(CANARY);
});

/** All that a process may write to in its memory; undefined where that cannot be read. */
function memoryOf(pid: number): Buffer | undefined {
  if (process.platform !== "linux") return undefined;
  let fd: number;
  try {
    fd = fs.openSync(`/proc/${pid}/mem`, "r");
  } catch {
    return undefined; // the system forbids it
  }
  const parts: Buffer[] = [];
  for (const line of fs.readFileSync(`/proc/${pid}/maps`, "utf8").split("\n")) {
    const [, from = "0", to = "0"] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
    const start = Number.parseInt(from, 16);
    const part = Buffer.alloc(Number.parseInt(to, 16) - start);
    try {
      fs.readSync(fd, part, 0, part.length, start);
      parts.push(part);
    } catch {} // a hole in it
  }
  fs.closeSync(fd);
  return Buffer.concat(parts);
}

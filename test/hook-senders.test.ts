import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { build } from "esbuild";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { launcherText, type Sender } from "../src/hook/launcher.ts";
import { hookCommand } from "../src/install/own-command.ts";
import { sendersOf } from "../src/install/probe.ts";
import { currentHost } from "../src/platform/paths.ts";

const scratch = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "omni-dev-test-")));
const sink = path.join(scratch, "sink.cjs");
afterAll(() => fs.rmSync(scratch, { recursive: true, force: true }));
beforeAll(async () => {
  const root = path.resolve(import.meta.dirname, "..");
  const contents = `
    import { runSink } from "./src/hook/sink.ts";
    import { currentHost, resolveSocket } from "./src/platform/paths.ts";
    runSink(process.argv.slice(2), (flag) => {
      const { path, problem } = resolveSocket({ flag, host: currentHost() });
      return problem ? undefined : path;
    });`;
  await build({
    stdin: { contents, resolveDir: root, loader: "ts" },
    outfile: sink,
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20.19",
  });
});

/** The ways to send that this machine has, each with the time it may take when nobody answers. */
const all = sendersOf(currentHost(), { path: process.execPath, sink });
const first = (kind: Sender["kind"]) => all.find((sender) => sender.kind === kind);
const kinds: { name: string; sender: Sender | undefined; stallMs: number }[] = [
  { name: "perl", sender: first("perl"), stallMs: 1000 },
  { name: "nc", sender: first("nc"), stallMs: 2000 },
  { name: "node", sender: first("node"), stallMs: 1500 },
  // The sink by itself, as a hook entry written by hand has it.
  { name: "sink", sender: undefined, stallMs: 1500 },
].filter(({ name, sender }) => sender || name === "sink");

test("perl, or nc, is among what is tested here, beside Node", () => {
  const names = kinds.map(({ name }) => name);
  expect(names.slice(-2)).toEqual(["node", "sink"]);
  expect(names.length).toBeGreaterThan(2);
});

/** Shells that this machine has. */
const shells = [
  "dash -c",
  "bash -c",
  "bash --posix -c",
  "zsh -c",
  "ksh -c",
  "busybox sh -c",
].filter((shell) => spawnSync("/bin/sh", ["-c", `command -v ${shell.split(" ")[0]}`]).status === 0);

const servers: net.Server[] = [];
const children: ChildProcess[] = [];
let folder: string;
let socketPath: string;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(scratch, "t-"));
  socketPath = path.join(folder, "s");
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

type Received = { header: { payload: Record<string, unknown> }; payload: Buffer };

/** A daemon that answers each hook, and keeps what it got in the order in which it was complete. */
async function listen(at = socketPath): Promise<Received[]> {
  const received: Received[] = [];
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    const chunks: Buffer[] = [];
    socket.on("error", () => {});
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("end", () => {
      const bytes = Buffer.concat(chunks);
      const end = bytes.indexOf("\n");
      const header = JSON.parse(bytes.subarray(0, end).toString());
      received.push({ header, payload: bytes.subarray(end + 1) });
      socket.end('{"ok":true,"payload":{"ok":true}}\n');
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(at, resolve));
  return received;
}

/** A listener that accepts and never reads, or, with a backlog of none, does not even accept. */
async function stall({ stopped = false, full = false } = {}): Promise<void> {
  const script = `
    const net = require("node:net");
    const [path, full] = process.argv.slice(1);
    net.createServer({ pauseOnConnect: true }, () => {}).listen({ path, backlog: 1 }, () => {
      process.stdout.write("ready");
    });`;
  const child = spawn(process.execPath, ["-e", script, socketPath], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  await once(child.stdout, "data");
  if (stopped || full) child.kill("SIGSTOP");
  if (!full) return;
  const waiting = spawn(
    "perl",
    [
      "-e",
      `$| = 1; for (1 .. 4) { socket(my $s, 1, 1, 0); push @s, $s; alarm 1; $SIG{ALRM} = sub { print "full"; sleep 1000 }; connect($s, pack("Sa108", 1, $ARGV[0])) }`,
      socketPath,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  children.push(waiting);
  await once(waiting.stdout, "data");
}

/**
 * Everything about how a hook call ended: `left` are processes of its group that still run, `pipe`
 * tells whether its caller could write all it had to.
 */
type Ending = { status: number | null; output: string; left: string[]; pipe: "whole" | "broken" };
const quiet: Ending = { status: 0, output: "", left: [], pipe: "whole" };

describe.each(kinds)("$name", ({ name, sender, stallMs }) => {
  const launcher = () => path.join(folder, "it's $HOME", "a \\ b", "omni-dev", "hook");

  /** Puts the launcher in place and returns the command of a hook entry. */
  function command(replaced: Partial<Sender> = {}, at = socketPath): string {
    if (!sender) return `${process.execPath} '${sink}' --socket "${at}"`;
    const text = launcherText({ sender: { ...sender, ...replaced } as Sender, socketPath: at });
    fs.mkdirSync(path.dirname(launcher()), { recursive: true });
    fs.writeFileSync(launcher(), text, { mode: 0o700 });
    return hookCommand(launcher());
  }

  /** Runs a hook as Claude does. `input` undefined leaves standard input open. */
  async function run(
    script: string,
    input: Buffer | string | undefined,
    env: Record<string, string> = {},
  ): Promise<Ending & { tookMs: number }> {
    const { NODE_EXTRA_CA_CERTS: _, ...inherited } = process.env;
    const start = performance.now();
    const child = spawn("/bin/sh", ["-c", script], {
      detached: true,
      env: { ...inherited, CLAUDE_PID: "", TMUX: "", GROK_SESSION_ID: "", ...env },
    });
    children.push(child);
    let output = "";
    child.stdout.on("data", (chunk) => (output += chunk));
    child.stderr.on("data", (chunk) => (output += chunk));
    let pipe: Ending["pipe"] = "whole";
    child.stdin.on("error", () => {
      pipe = "broken";
    });
    if (input !== undefined) child.stdin.end(input);
    const [status] = await once(child, "close");
    const tookMs = performance.now() - start;
    child.stdin.destroy();
    const left = execFileSync("ps", ["-A", "-o", "pgid=,stat=,args="], { encoding: "utf8" })
      .split("\n")
      .filter((line) => Number.parseInt(line, 10) === child.pid);
    return { status, output, left, pipe, tookMs };
  }
  const endOf = async (...args: Parameters<typeof run>): Promise<Ending> => {
    const { tookMs: _, ...end } = await run(...args);
    return end;
  };

  test("delivers a header line and every byte of the payload", async () => {
    const received = await listen();
    const payload = Buffer.from(Array.from({ length: 200_000 }, (_, i) => i & 0xff));
    expect(await endOf(command(), payload)).toEqual(quiet);
    expect(received).toEqual([
      {
        header: {
          service: "sessions",
          op: "hook",
          payload: { agent: "claude", ppid: expect.any(Number), env: expect.any(Object) },
        },
        payload,
      },
    ]);
  });

  test("tells where it runs, in plain words only", async () => {
    const received = await listen();
    const env = {
      CLAUDE_PID: "4001",
      GROK_SESSION_ID: "x",
      TMUX: "/tmp/tmux-0/de fault,1,2",
      TMUX_PANE: "%3",
      TERM_PROGRAM: 'a"b',
      ITERM_SESSION_ID: "w0t1p0:A-1",
      TERM_SESSION_ID: "a\\b",
      KITTY_WINDOW_ID: "7\n",
      WEZTERM_PANE: "",
      ZELLIJ_SESSION_NAME: "é",
      VSCODE_IPC_HOOK_CLI: `/${"x".repeat(200)}`,
      CLAUDE_CODE_ENTRYPOINT: "cli",
    };
    await run(command(), "{}", { ...env });
    await run(command(), "{}", { ...env, TMUX: "/tmp/tmux-0/default,1,2", CLAUDE_PID: "1;x" });
    await run(command(), "{}", { ...env, CLAUDE_PID: "12345678901" });
    const words = {
      tmux_pane: "%3",
      iterm_session_id: "w0t1p0:A-1",
      claude_code_entrypoint: "cli",
    };
    const others = {
      WINDOWID: "windowid",
      KONSOLE_DBUS_SERVICE: "konsole_dbus_service",
    };
    for (const [variable, field] of Object.entries(others))
      if (process.env[variable]) Object.assign(words, { [field]: process.env[variable] });
    expect(received.map(({ header }) => header.payload)).toEqual([
      { agent: "claude", pid: 4001, ppid: expect.any(Number), grok: true, env: words },
      {
        agent: "claude",
        ppid: expect.any(Number),
        grok: true,
        env: { ...words, tmux_socket: "/tmp/tmux-0/default" },
      },
      { agent: "claude", ppid: expect.any(Number), grok: true, env: words },
    ]);
  });

  test("names another agent, without the pid that it may have inherited from Claude", async () => {
    const received = await listen();
    const text = command();
    const own = sender ? `'${launcher().replaceAll("'", "'\\''")}'` : text;
    for (const agent of ["codex", "Codex", "../x", "a".repeat(33)])
      expect(await endOf(`${own} --agent '${agent}'`, "{}", { CLAUDE_PID: "1" })).toEqual(quiet);
    expect(received.map(({ header }) => header.payload)).toEqual([
      { agent: "codex", ppid: expect.any(Number), env: expect.any(Object) },
    ]);
  });

  test("the socket in the environment wins, however it is written", async () => {
    const other = path.join(folder, "o'ther $x");
    const received = await listen(other);
    const script = sender ? command() : `${process.execPath} '${sink}'`;
    expect(await endOf(script, "{}", { OMNI_DEV_SOCKET: other })).toEqual(quiet);
    expect(received).toHaveLength(1);
  });

  test("calls arrive in the order in which they were made, whatever their size", async () => {
    const received = await listen();
    const sizes = [4_000_000, 1, 2_000_000, 2, 3_000_000, 3];
    for (const size of sizes) await run(command(), Buffer.alloc(size, "x"));
    expect(received.map(({ payload }) => payload.length)).toEqual(sizes);
  });

  const payloads = {
    "no payload": "",
    garbage: '{"hook_event_name": ',
    "bytes that are no UTF-8": Buffer.from([0xff, 0x00, 0xc3, 0x28, 0x0a]),
    "50 MB": Buffer.alloc(50_000_000, "{"),
  };
  test.each(Object.entries(payloads))(
    "%s: quiet and over, with and without a daemon",
    async (_, payload) => {
      expect(await endOf(command(), payload)).toEqual(quiet);
      fs.writeFileSync(socketPath, "");
      expect(await endOf(command(), payload)).toEqual(quiet);
      fs.rmSync(socketPath);
      const received = await listen();
      expect(await endOf(command(), payload)).toEqual(quiet);
      const whole = received.map(({ payload: got }) => got.equals(Buffer.from(payload)));
      expect(whole.includes(false)).toBe(false);
    },
  );

  test.each([
    ["accepts and never reads", {}],
    ["is stopped", { stopped: true }],
  ])("a daemon that %s does not hold it", async (_, how) => {
    await stall(how);
    for (const payload of ["{}", Buffer.alloc(5_000_000, "x")]) {
      const { tookMs, ...end } = await run(command(), payload);
      expect(end).toEqual(quiet);
      expect(tookMs).toBeLessThan(stallMs);
    }
  });

  // nc waits in connect(), where nothing of its own bounds it: the timeout of the entry does.
  if (process.platform === "linux" && first("perl") && name !== "nc")
    test("a daemon whose backlog is full does not hold it", async () => {
      await stall({ full: true });
      const { tookMs, ...end } = await run(command(), "{}");
      expect(end).toEqual(quiet);
      expect(tookMs).toBeLessThan(stallMs);
    });

  test("closed standard streams are no reason to speak or to fail", async () => {
    const closed = { ...quiet, pipe: expect.any(String) };
    const text = command();
    for (const streams of ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
      expect(await endOf(`exec ${streams}; ${text}`, "{}")).toEqual(closed);
    const received = await listen();
    for (const streams of ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
      expect(await endOf(`exec ${streams}; ${text}`, "{}")).toEqual(closed);
    expect(received.filter(({ payload }) => payload.length > 0)).toHaveLength(2);
  });

  test("delivers from a directory that is gone", async () => {
    const received = await listen();
    const gone = path.join(folder, "gone");
    const inside = `mkdir '${gone}'; cd '${gone}'; rmdir '${gone}'`;
    expect(await endOf(`${inside}; ${command()}`, "{}")).toEqual(quiet);
    expect(received).toHaveLength(1);
  });

  test.each(shells)("works as well when the agent runs hooks with %s", async (shell) => {
    const received = await listen();
    fs.writeFileSync(path.join(folder, "entry"), command());
    expect(await endOf(`${shell} "$(cat '${folder}/entry')"`, "{}")).toEqual(quiet);
    expect(received).toHaveLength(1);
  });

  test("settings of other programs in the environment neither hinder it nor make it speak", async () => {
    const received = await listen();
    const env = {
      PERL5OPT: "-MNo::Such::Module",
      PERL_UNICODE: "SDA",
      PERL5LIB: "/nowhere",
      LC_ALL: "xx_XX.UTF-8",
      ...(sender ? { NODE_OPTIONS: "--require /no/such/file" } : {}),
      NODE_EXTRA_CA_CERTS: sender ? "/no/such/file" : "",
      NODE_PENDING_DEPRECATION: "1",
      BASH_ENV: "/nowhere",
      ENV: "/nowhere",
      IFS: "/",
    };
    const payload = Buffer.from([0xe9, 0xc3, 0xa9, 0x0d, 0x0a]);
    expect(await endOf(command(), payload, env)).toEqual(quiet);
    expect(received.map(({ payload: got }) => got)).toEqual([payload]);
  });

  // nc cannot bound it either: the timeout of the entry does.
  if (name !== "nc")
    test("an agent that sends nothing and does not close does not keep it", async () => {
      await listen();
      const { tookMs, ...end } = await run(command(), undefined);
      expect(end).toEqual(quiet);
      expect(tookMs).toBeLessThan(stallMs + 1000);
    });

  // The sink alone has no parts.
  if (sender)
    test("quiet and over when its parts are gone", async () => {
      await listen();
      const parts: Partial<Sender>[] = [{ path: "/no/such/program" }];
      if (name === "node") parts.push({ sink: "/no/such/file" } as Partial<Sender>);
      for (const part of parts) expect(await endOf(command(part), "{}")).toEqual(quiet);
      const text = command();
      fs.rmSync(launcher());
      expect((await endOf(text, "{}")).status).toBe(0);
    });

  test("a socket path too long for the system is not cut into another one", async () => {
    const base = `${folder}/`.padEnd(107, "x");
    const received = await listen(base);
    expect(await endOf(command({}, `${base}y`), "{}")).toEqual(quiet);
    expect(received).toEqual([]);
    expect(await endOf(command({}, base), "{}")).toEqual(quiet);
    expect(received).toHaveLength(1);
  });
});

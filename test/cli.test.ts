import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { beforeAll, expect, onTestFinished, test, vi } from "vitest";

const root = path.resolve(import.meta.dirname, "..");
const program = path.join(root, "dist", "omni-dev.js");

beforeAll(() => {
  execFileSync(process.execPath, [path.join(root, "scripts", "build.mjs")], { stdio: "ignore" });
});

/** A home of its own, where nothing of the real user is seen or touched. */
class Home {
  readonly dir = fs.mkdtempSync(path.join(os.tmpdir(), "omni-"));
  readonly socketPath: string;
  readonly env: Record<string, string>;

  constructor() {
    const data = path.join(this.dir, "data");
    this.socketPath =
      process.platform === "darwin"
        ? path.join(this.dir, "Library", "Application Support", "omni-dev", "daemon.sock")
        : path.join(data, "omni-dev", "daemon.sock");
    this.env = {
      PATH: process.env.PATH ?? "",
      HOME: this.dir,
      TMPDIR: this.dir,
      TERM: "xterm-256color",
      XDG_DATA_HOME: data,
      XDG_CONFIG_HOME: path.join(this.dir, "config"),
      XDG_RUNTIME_DIR: path.join(this.dir, "run"),
      OMNI_DEV_SOCKET: "",
      OMNI_DEV_DAEMON_STREAM_TICK: "0.1",
    };
    onTestFinished(async () => {
      if (fs.existsSync(this.socketPath)) await this.run("daemon", "stop");
      fs.rmSync(this.dir, { recursive: true, force: true });
    });
  }

  /** Runs the program to its end. */
  run(...args: string[]): Promise<{ exit: number; stdout: string; stderr: string }> {
    return new Promise((resolve) => {
      const child = execFile(
        process.execPath,
        [program, ...args],
        { env: this.env, cwd: this.dir },
        (_, stdout, stderr) => resolve({ exit: child.exitCode ?? -1, stdout, stderr }),
      );
    });
  }

  /** Runs the program until somebody ends it. */
  start(...args: string[]): Running {
    return new Running(spawn(process.execPath, [program, ...args], { env: this.env }));
  }

  /** Asks the daemon as any other program would, and returns its line. */
  async ask(service: string, op: string, payload: unknown = null): Promise<string> {
    const socket = net.connect(this.socketPath);
    socket.end(`${JSON.stringify({ service, op, payload })}\n`);
    let text = "";
    for await (const chunk of socket.setEncoding("utf8")) text += chunk;
    return text;
  }

  observe(session_id: string, state: string, more: object = {}): Promise<string> {
    const sighting = { session_id, event: { stream_state: state }, ...more };
    return this.ask("sessions", "observe", sighting);
  }
}

class Running {
  readonly child: ChildProcess;
  stderr = "";
  readonly #lines: AsyncIterator<string>;
  readonly #exit: Promise<unknown[]>;

  constructor(child: ChildProcess) {
    const { stdout, stderr } = child;
    if (!stdout || !stderr) throw new Error("no pipes");
    this.child = child;
    this.#exit = once(child, "exit");
    this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
    stderr.setEncoding("utf8").on("data", (text) => {
      this.stderr += text;
    });
    onTestFinished(() => {
      child.kill("SIGKILL");
    });
  }

  async line(): Promise<string | undefined> {
    const { value, done } = await this.#lines.next();
    return done ? undefined : value;
  }

  async exit(): Promise<unknown> {
    return (await this.#exit)[0];
  }
}

/** Something at the socket that answers each op with this text. */
async function aDaemonThatSays(home: Home, answers: Record<string, string>): Promise<void> {
  fs.mkdirSync(path.dirname(home.socketPath), { recursive: true, mode: 0o700 });
  const server = net.createServer((socket) => {
    socket.on("error", () => {});
    createInterface({ input: socket }).on("line", (line) => {
      socket.write(`${answers[JSON.parse(line).op] ?? '{"ok":false,"error":"no such op"}'}\n`);
    });
  });
  server.listen(home.socketPath);
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
  });
}

const unreachable = (home: Home) =>
  `Cannot reach the daemon at ${home.socketPath}: there is no such socket\n` +
  "Start it with: omni-dev daemon start (and the same --socket, if you gave one)\n";

test("bare, it prints help; so does a group", async () => {
  const home = new Home();
  for (const args of [[], ["sessions"], ["daemon"], ["--help"], ["sessions", "list", "--help"]]) {
    const { exit, stdout, stderr } = await home.run(...args);
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: "" });
    expect(stdout).toMatch(/^Usage: omni-dev/);
    expect(stdout).toMatch(/Examples?:\n {2}\$ omni-dev /);
  }
});

test("every command has help with an example", async () => {
  const home = new Home();
  const commands = [
    ...["list", "watch", "window", "window-unregister"].map((name) => ["sessions", name]),
    ...["run", "start", "stop", "restart", "status", "logs"].map((name) => ["daemon", name]),
  ];
  const helps = await Promise.all(commands.map((command) => home.run(...command, "--help")));
  for (const { exit, stdout } of helps) {
    expect(exit).toBe(0);
    expect(stdout).toMatch(/Examples?:\n {2}\$ omni-dev /);
  }
});

test("the version is the package's", async () => {
  const { version } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"));
  expect(await new Home().run("--version")).toEqual({
    exit: 0,
    stdout: `${version}\n`,
    stderr: "",
  });
});

test.each([
  [["frobnicate"], "error: unknown command 'frobnicate'\n"],
  [["sesions"], "error: unknown command 'sesions'\n(Did you mean sessions?)\n"],
  [["sessions", "lst"], "error: unknown command 'lst'\n(Did you mean list?)\n"],
  [["sessions", "list", "--al"], "error: unknown option '--al'\n(Did you mean --all?)\n"],
  [
    ["sessions", "list", "-o", "yaml"],
    "error: option '-o, --output <format>' argument 'yaml' is invalid. Allowed choices are table, json.\n",
  ],
  [["sessions", "window"], "error: required option '--key <key>' not specified\n"],
  [
    ["sessions", "window", "--key", "k", "--tabs", "-1"],
    "error: option '--tabs <n>' argument '-1' is invalid. It is not a whole number.\n",
  ],
])("%j is a mistake in the command line", async (args, stderr) => {
  expect(await new Home().run(...args)).toEqual({ exit: 2, stdout: "", stderr });
});

test.each([
  [["sessions", "list"]],
  [["sessions", "list", "-o", "json"]],
  [["sessions", "window", "--key", "k"]],
  [["sessions", "window-unregister", "--key", "k"]],
  [["daemon", "status"]],
  [["daemon", "status", "--json"]],
])("%j without a daemon says how to start one", async (args) => {
  const home = new Home();
  expect(await home.run(...args)).toEqual({ exit: 3, stdout: "", stderr: unreachable(home) });
});

test("a given socket without a daemon is not given one by watch", async () => {
  const home = new Home();
  home.env.OMNI_DEV_SOCKET = home.socketPath;
  for (const args of [[], ["-o", "ndjson"]]) {
    const ran = await home.run("sessions", "watch", ...args);
    expect(ran).toEqual({ exit: 3, stdout: "", stderr: unreachable(home) });
  }
});

test("a socket path that the system cannot take is refused in words", async () => {
  const { exit, stderr } = await new Home().run("sessions", "list", "--socket", "x".repeat(200));
  expect(exit).toBe(1);
  expect(stderr).toMatch(
    /^Cannot use a socket path of \d+ bytes.*--socket or OMNI_DEV_SOCKET\.\n$/,
  );
});

test("json is the payload as the daemon wrote it, byte for byte", async () => {
  const home = new Home();
  const payload = '{ "sessions" : [{"name":"\\u00e4 ä","n":1.0,"new":null}] }';
  await aDaemonThatSays(home, {
    list: `{"ok":true,"payload":${payload}}`,
    status: '{"ok":true,"payload":{"services":[],"version":"9.9.9", "x":1e2}}',
  });
  expect(await home.run("sessions", "list", "-o", "json")).toEqual({
    exit: 0,
    stdout: `${payload}\n`,
    stderr: "",
  });
  expect(await home.run("daemon", "status", "--json")).toEqual({
    exit: 0,
    stdout: '{"services":[],"version":"9.9.9", "x":1e2}\n',
    stderr: expect.stringMatching(
      /^The daemon is version 9\.9\.9, this is .*\. Replace it with: omni-dev daemon restart\n$/,
    ),
  });
});

test("what a daemon refuses is told, and so is what it should not have said", async () => {
  const home = new Home();
  await aDaemonThatSays(home, { list: "nonsense", status: '{"ok":true,"payload":7}' });
  const window = await home.run("sessions", "window", "--key", "k");
  expect([window.exit, window.stderr]).toEqual([1, "The daemon refuses: no such op\n"]);
  const list = await home.run("sessions", "list");
  expect([list.exit, list.stderr.split(":")[0]]).toEqual([
    1,
    "Cannot understand the daemon's answer",
  ]);
});

test("a bug is one line and a hint, or its stack when asked", async () => {
  const home = new Home();
  await aDaemonThatSays(home, { status: '{"ok":true,"payload":7}' });
  const { exit, stderr } = await home.run("daemon", "status");
  expect(exit).toBe(1);
  expect(stderr).toMatch(/^.+\nThis is a bug\. OMNI_DEV_DEBUG=1 shows where it comes from\.\n$/);
  home.env.OMNI_DEV_DEBUG = "1";
  expect((await home.run("daemon", "status")).stderr).toContain("    at ");
});

test("a daemon's whole life: start, twice, status, restart, stop, twice", async () => {
  const home = new Home();
  const at = home.socketPath;
  const says = async (...args: string[]) => {
    const { exit, stdout, stderr } = await home.run("daemon", ...args);
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: "" });
    return stdout;
  };
  expect(await says("start")).toBe(`The daemon is running at ${at}.\n`);
  expect(await says("start")).toBe(`The daemon is already running at ${at}.\n`);
  expect(fs.statSync(at).mode & 0o777).toBe(0o600);
  expect(fs.statSync(path.dirname(at)).mode & 0o777).toBe(0o700);

  await home.observe("s1", "working");
  expect(await says("status")).toMatch(
    /^daemon \S+ at .*\nsessions {2}healthy {2}1 session\(s\): 1 working, 0 waiting, 0 idle\n/,
  );
  const status = JSON.parse(await says("status", "--json"));
  expect(JSON.parse(await home.ask("daemon", "status")).payload.version).toBe(status.version);

  expect(await says("restart")).toBe(`The daemon is running at ${at}.\n`);
  expect(await says("stop")).toBe("The daemon has stopped.\n");
  expect(fs.existsSync(at)).toBe(false);
  expect(await says("stop")).toBe(`No daemon is running at ${at}.\n`);

  const log = await says("logs");
  expect(log).toBe(fs.readFileSync(path.join(path.dirname(at), "daemon.log"), "utf8"));
  expect(log.match(/ info Listening at /g)).toHaveLength(2);
});

test("a daemon that cannot start tells why", async () => {
  const home = new Home();
  const shared = path.join(home.dir, "shared");
  fs.mkdirSync(shared);
  fs.writeFileSync(path.join(shared, "theirs"), "");
  fs.chmodSync(shared, 0o777);
  const { exit, stdout, stderr } = await home.run(
    ...["daemon", "start", "--socket", path.join(shared, "d.sock")],
  );
  expect([exit, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^Cannot put the socket into .*\nCannot start the daemon: it ended\.\n$/);
});

test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
  "a daemon in the foreground says what it logs and ends well on %s",
  async (signal) => {
    const home = new Home();
    const daemon = home.start("daemon", "run");
    await vi.waitFor(() => expect(daemon.stderr).toContain("Listening at"));
    const other = await home.run("daemon", "run");
    expect(other).toEqual({
      exit: 1,
      stdout: "",
      stderr: `A process already listens at ${home.socketPath}.\nTo replace it: omni-dev daemon restart\n`,
    });
    daemon.child.kill(signal);
    expect(await daemon.exit()).toBe(0);
    expect(fs.existsSync(home.socketPath)).toBe(false);
  },
);

test("the log is followed into the next file", async () => {
  const home = new Home();
  const log = path.join(path.dirname(home.socketPath), "daemon.log");
  expect(await home.run("daemon", "logs")).toEqual({
    exit: 1,
    stdout: "",
    stderr: `There is no log yet: ${log}\n`,
  });
  fs.mkdirSync(path.dirname(log), { recursive: true, mode: 0o700 });
  fs.writeFileSync(log, "one\n");
  const logs = home.start("daemon", "logs", "-f");
  expect(await logs.line()).toBe("one");
  fs.appendFileSync(log, "two\x1b[2J\n");
  expect(await logs.line()).toBe("two\\x1b[2J");
  fs.appendFileSync(log, "last of the old\n");
  fs.renameSync(log, `${log}.1`);
  fs.writeFileSync(log, "first of the new\n");
  expect([await logs.line(), await logs.line()]).toEqual(["last of the old", "first of the new"]);
  logs.child.kill("SIGINT");
  expect(await logs.exit()).toBe(0);
});

test("a list of the real daemon is the same bytes as on the socket, and a table for people", async () => {
  const home = new Home();
  await home.run("daemon", "start");
  expect((await home.run("sessions", "list")).stdout).toBe(
    "No sessions are running.\nStart claude in another terminal: it appears here by itself.\n",
  );
  await home.observe("s-working", "working", {
    agent: "codex",
    cwd: home.dir,
    model: "gpt\x1b[2J",
  });
  await home.observe("s-waiting", "waiting_for_permission", { cwd: `${home.dir}/日本` });

  const json = await home.run("sessions", "list", "-o", "json");
  expect(`{"ok":true,"payload":${json.stdout.trimEnd()}}\n`).toBe(
    await home.ask("sessions", "list"),
  );

  const { stdout } = await home.run("sessions", "list");
  expect(stdout.replaceAll(/ \d+s /g, " 0s ")).toBe(`\
STATE               SINCE  AGENT   SESSION   DIRECTORY  MODEL
! needs permission  0s     claude  s-waitin  ~/日本
▸ working           0s     codex   s-workin  ~          gpt\\x1b[2J
`);
});

test("a window is reported with absolute folders, and taken back once", async () => {
  const home = new Home();
  await home.run("daemon", "start");
  await home.observe("s1", "idle", { cwd: path.join(fs.realpathSync(home.dir), "app") });
  const report = ["sessions", "window", "--key", "w1", "--folder", "./app", "--folder", "/other"];
  expect((await home.run(...report, "--tabs", "1")).stdout).toBe("Reported window w1.\n");
  const { sessions } = JSON.parse((await home.run("sessions", "list", "-o", "json")).stdout);
  expect(sessions[0].source).toEqual({ kind: "vs_code", window_key: "w1" });

  const takeBack = ["sessions", "window-unregister", "--key", "w1"];
  expect((await home.run(...takeBack)).stdout).toBe("Removed window w1.\n");
  expect((await home.run(...takeBack)).stdout).toBe("There was no window w1.\n");
});

test("colours are for terminals, or for those who insist", async () => {
  const home = new Home();
  await home.run("daemon", "start");
  await home.observe("s1", "waiting_for_input");
  const isColoured = async (env: Record<string, string>) => {
    Object.assign(home.env, { NO_COLOR: "", ...env });
    return (await home.run("sessions", "list")).stdout.includes("\x1b[");
  };
  expect(await isColoured({})).toBe(false);
  expect(await isColoured({ FORCE_COLOR: "1" })).toBe(true);
  expect(await isColoured({ FORCE_COLOR: "1", NO_COLOR: "1" })).toBe(false);
});

test("watch into a pipe prints once, with a daemon only for that long", async () => {
  const home = new Home();
  expect(await home.run("sessions", "watch")).toEqual({
    exit: 0,
    stdout:
      "No sessions are running.\nStart claude in another terminal: it appears here by itself.\n",
    stderr: "",
  });
  expect(fs.existsSync(home.socketPath)).toBe(false);
});

test("npm start's script does the same, from wherever", async () => {
  const home = new Home();
  const start = path.join(root, "scripts", "start.mjs");
  const { status, stdout } = spawnSync(process.execPath, [start, "--all"], {
    cwd: home.dir,
    env: { ...home.env, NODE_ENV: "production" },
    encoding: "utf8",
  });
  expect([status, stdout.split("\n")[0]]).toEqual([0, "No sessions are running."]);
});

test("a line of JSON for each change, from a daemon of its own, until interrupted", async () => {
  const home = new Home();
  const watch = home.start("sessions", "watch", "-o", "ndjson");
  expect(await watch.line()).toBe('{"sessions":[]}');
  await home.observe("s1", "working");
  const line = await watch.line();
  expect(`{"ok":true,"payload":${line}}\n`).toBe(await home.ask("sessions", "list"));
  watch.child.kill("SIGINT");
  expect([await watch.exit(), watch.stderr]).toEqual([0, ""]);
  expect(fs.existsSync(home.socketPath)).toBe(false);
});

test("a reader that has read enough is nobody's failure", async () => {
  const home = new Home();
  const watch = home.start("sessions", "watch", "-o", "ndjson");
  await watch.line();
  watch.child.stdout?.destroy();
  await home.observe("s1", "working");
  expect([await watch.exit(), watch.stderr]).toEqual([0, ""]);
});

test("when the daemon in one watch ends with it, another watch takes its place", async () => {
  const home = new Home();
  const first = home.start("sessions", "watch", "-o", "ndjson");
  await first.line();
  const second = home.start("sessions", "watch", "-o", "ndjson");
  expect(await second.line()).toBe('{"sessions":[]}');
  first.child.kill("SIGTERM");
  expect(await first.exit()).toBe(0);
  await vi.waitFor(async () => expect(await home.observe("s1", "idle")).toContain('"ok":true'), {
    timeout: 20_000,
  });
  expect(await second.line()).toContain('"session_id":"s1"');
  expect(second.stderr).toBe("daemon lost, reconnecting…\n");
});

const hasTmux = spawnSync("tmux", ["-V"]).status === 0;

/** A shell in a terminal of 70 by 8 cells. */
function aShell(home: Home) {
  const run = (...args: string[]) =>
    spawnSync("tmux", ["-S", path.join(home.dir, "tmux"), "-f", "/dev/null", ...args], {
      env: { ...home.env, PS1: "$ " },
      encoding: "utf8",
    }).stdout;
  const pid = Number(run("new-session", "-dP", "-F#{pane_pid}", "-x70", "-y8", "--", "env", "sh"));
  onTestFinished(() => {
    run("kill-server");
  });
  return {
    pid,
    type: (...keys: string[]) => run("send-keys", ...keys),
    resize: (columns: number) => run("resize-window", "-x", String(columns)),
    shows: (text: string | RegExp) =>
      vi.waitFor(() => expect(run("capture-pane", "-p")).toMatch(text), { timeout: 20_000 }),
  };
}

test.skipIf(!hasTmux)("on a terminal it is live, and leaves it as it was", async () => {
  const home = new Home();
  await home.run("daemon", "start");
  const shell = aShell(home);
  await shell.shows(/^\$/);
  shell.type(`'${process.execPath}' '${program}' sessions watch`, "Enter");
  await shell.shows("No sessions are running.");

  await home.observe("s1", "waiting_for_input", { cwd: path.join(home.dir, "a-long-name") });
  await shell.shows(/\? needs input +\d+s +claude +s1 +~\/a-long-name/);
  shell.resize(50);
  await shell.shows(/\? needs input +\d+s +claude +s1 +…/);

  shell.type("C-z");
  await shell.shows(/Stopped|Suspended/);
  shell.type("fg", "Enter");
  await shell.shows(/needs input/);
  shell.type("q");
  await shell.shows(/\$ fg\n[\s\S]*\n\$\s*$/);
  shell.type("echo left $?", "Enter");
  await shell.shows(/^left 0$/m);
});

test.skipIf(!hasTmux)(
  "a terminal that is closed takes its watch and its daemon along",
  async () => {
    const home = new Home();
    const shell = aShell(home);
    shell.type(`exec '${process.execPath}' '${program}' sessions watch`, "Enter");
    await shell.shows("the daemon runs in this window");
    process.kill(shell.pid, "SIGHUP");
    await vi.waitFor(() => expect(fs.existsSync(home.socketPath)).toBe(false), { timeout: 20_000 });
  },
);

import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test, vi } from "vitest";
import { PATIENCE_MS, Program, pidsWith, root } from "./harness/program.ts";

/** Something at the socket that answers each op with this text. */
async function aDaemonThatSays(program: Program, answers: Record<string, string>): Promise<void> {
  fs.mkdirSync(path.dirname(program.socket), { recursive: true, mode: 0o700 });
  const server = net.createServer((socket) => {
    socket.on("error", () => {});
    createInterface({ input: socket }).on("line", (line) => {
      socket.write(`${answers[JSON.parse(line).op] ?? '{"ok":false,"error":"no such op"}'}\n`);
    });
  });
  server.listen(program.socket);
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
  });
}

const unreachable = (program: Program) =>
  `Cannot reach the daemon at ${program.socket}: there is no such socket\n` +
  "Start it with: omni-dev daemon start (with the same --socket, if you gave one)\n";

test("bare, it prints help; so does a group", async () => {
  const program = new Program();
  for (const args of [[], ["sessions"], ["daemon"], ["--help"], ["sessions", "list", "--help"]]) {
    const { exit, stdout, stderr } = await program.run(...args);
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: "" });
    expect(stdout).toMatch(/^Usage: omni-dev/);
    expect(stdout).toMatch(/Examples?:\n {2}\$ omni-dev /);
  }
});

test("every command has help with an example", async () => {
  const program = new Program();
  const commands = [
    ...["list", "watch", "window", "window-unregister"].map((name) => ["sessions", name]),
    ...["run", "start", "stop", "restart", "status", "logs"].map((name) => ["daemon", name]),
  ];
  const helps = await Promise.all(commands.map((command) => program.run(...command, "--help")));
  for (const { exit, stdout } of helps) {
    expect(exit).toBe(0);
    expect(stdout).toMatch(/Examples?:\n {2}\$ omni-dev /);
  }
});

test("the version is the package's", async () => {
  const { version } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"));
  expect(await new Program().run("--version")).toEqual({
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
  expect(await new Program().run(...args)).toEqual({ exit: 2, stdout: "", stderr });
});

test.each([
  [["sessions", "list"]],
  [["sessions", "list", "-o", "json"]],
  [["sessions", "window", "--key", "k"]],
  [["sessions", "window-unregister", "--key", "k"]],
  [["daemon", "status"]],
  [["daemon", "status", "--json"]],
])("%j without a daemon says how to start one", async (args) => {
  const program = new Program();
  expect(await program.run(...args)).toEqual({ exit: 3, stdout: "", stderr: unreachable(program) });
});

test("a given socket without a daemon is not given one by watch", async () => {
  const program = new Program();
  program.env.OMNI_DEV_SOCKET = program.socket;
  for (const args of [[], ["-o", "ndjson"]]) {
    const ran = await program.run("sessions", "watch", ...args);
    expect(ran).toEqual({ exit: 3, stdout: "", stderr: unreachable(program) });
  }
});

test("a socket path that the system cannot take is refused in words", async () => {
  const { exit, stderr } = await new Program().run("sessions", "list", "--socket", "x".repeat(200));
  expect(exit).toBe(1);
  expect(stderr).toMatch(
    /^Cannot use a socket path of \d+ bytes.*--socket or OMNI_DEV_SOCKET\.\n$/,
  );
});

test("json is the payload as the daemon wrote it, byte for byte", async () => {
  const program = new Program();
  const payload = '{ "sessions" : [{"name":"\\u00e4 ä","n":1.0,"new":null}] }';
  await aDaemonThatSays(program, {
    list: `{"ok":true,"payload":${payload}}`,
    status: '{"ok":true,"payload":{"services":[],"version":"9.9.9", "x":1e2}}',
  });
  expect(await program.run("sessions", "list", "-o", "json")).toEqual({
    exit: 0,
    stdout: `${payload}\n`,
    stderr: "",
  });
  expect(await program.run("daemon", "status", "--json")).toEqual({
    exit: 0,
    stdout: '{"services":[],"version":"9.9.9", "x":1e2}\n',
    stderr: expect.stringMatching(
      /^The daemon is version 9\.9\.9, this is .*\. Replace it with: omni-dev daemon restart\n$/,
    ),
  });
});

test("what a daemon refuses is told, and so is what it should not have said", async () => {
  const program = new Program();
  await aDaemonThatSays(program, { list: "nonsense", status: '{"ok":true,"payload":7}' });
  const window = await program.run("sessions", "window", "--key", "k");
  expect([window.exit, window.stderr]).toEqual([1, "The daemon refuses: no such op\n"]);
  const list = await program.run("sessions", "list");
  expect([list.exit, list.stderr.split(":")[0]]).toEqual([
    1,
    "Cannot understand the daemon's answer",
  ]);
});

test("a bug is one line and a hint, or its stack when asked", async () => {
  const program = new Program();
  await aDaemonThatSays(program, { status: '{"ok":true,"payload":7}' });
  const { exit, stderr } = await program.run("daemon", "status");
  expect(exit).toBe(1);
  expect(stderr).toMatch(/^.+\nThis is a bug\. OMNI_DEV_DEBUG=1 shows where it comes from\.\n$/);
  program.env.OMNI_DEV_DEBUG = "1";
  expect((await program.run("daemon", "status")).stderr).toContain("    at ");
});

test("a daemon's whole life: start, twice, status, restart, stop, twice", async () => {
  const program = new Program();
  const at = program.socket;
  const says = async (...args: string[]) => {
    const { exit, stdout, stderr } = await program.run("daemon", ...args);
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: "" });
    return stdout;
  };
  expect(await says("start")).toBe(`The daemon is running at ${at}.\n`);
  expect(await says("start")).toBe(`The daemon is already running at ${at}.\n`);
  expect(fs.statSync(at).mode & 0o777).toBe(0o600);
  expect(fs.statSync(path.dirname(at)).mode & 0o777).toBe(0o700);

  await program.observe("s1", { stream_state: "working" });
  expect(await says("status")).toMatch(
    /^daemon \S+ at .*\nsessions {2}healthy {2}1 session\(s\): 1 working, 0 waiting, 0 idle\n/,
  );
  const status = JSON.parse(await says("status", "--json"));
  expect(JSON.parse(await program.ask("daemon", "status")).payload.version).toBe(status.version);

  expect(await says("restart")).toBe(`The daemon is running at ${at}.\n`);
  expect(await says("stop")).toBe("The daemon has stopped.\n");
  expect(fs.existsSync(at)).toBe(false);
  expect(await says("stop")).toBe(`No daemon is running at ${at}.\n`);

  const log = await says("logs");
  expect(log).toBe(fs.readFileSync(path.join(path.dirname(at), "daemon.log"), "utf8"));
  expect(log.match(/ info Listening at /g)).toHaveLength(2);
});

test("a daemon that hangs is asked to stop, and stops when it can", async () => {
  const program = new Program();
  await program.run("daemon", "start");
  const [pid = 0] = await pidsWith(`daemon run --socket ${program.socket}`);
  process.kill(pid, "SIGSTOP");
  const { exit, stderr } = await program.run("daemon", "stop");
  process.kill(pid, "SIGCONT");
  expect(exit).toBe(1);
  expect(stderr).toContain("it was asked to, and is still there");
  await vi.waitFor(async () => expect(await pidsWith(program.socket)).toEqual([]), {
    timeout: PATIENCE_MS,
  });
});

test("a daemon that cannot start tells why", async () => {
  const program = new Program();
  const shared = path.join(program.home, "shared");
  fs.mkdirSync(shared);
  fs.writeFileSync(path.join(shared, "theirs"), "");
  fs.chmodSync(shared, 0o777);
  const { exit, stdout, stderr } = await program.run(
    ...["daemon", "start", "--socket", path.join(shared, "d.sock")],
  );
  expect([exit, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^Cannot put the socket into .*\nCannot start the daemon: it ended\.\n$/);
});

test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
  "a daemon in the foreground says what it logs and ends well on %s",
  async (signal) => {
    const program = new Program();
    const daemon = program.start("daemon", "run");
    await daemon.complains("Listening at");
    const other = await program.run("daemon", "run");
    expect(other).toEqual({
      exit: 1,
      stdout: "",
      stderr: `A process already listens at ${program.socket}.\nTo replace it: omni-dev daemon restart\n`,
    });
    daemon.child.kill(signal);
    expect((await daemon.ended()).exit).toBe(0);
    expect(fs.existsSync(program.socket)).toBe(false);
  },
);

test("the log is followed into the next file", async () => {
  const program = new Program();
  const log = path.join(path.dirname(program.socket), "daemon.log");
  expect(await program.run("daemon", "logs")).toEqual({
    exit: 1,
    stdout: "",
    stderr: `There is no log yet: ${log}\n`,
  });
  fs.mkdirSync(path.dirname(log), { recursive: true, mode: 0o700 });
  fs.writeFileSync(log, "one\n");
  const logs = program.start("daemon", "logs", "-f");
  expect(await logs.line()).toBe("one");
  fs.appendFileSync(log, "two\x1b[2J\n");
  expect(await logs.line()).toBe("two\\x1b[2J");
  fs.appendFileSync(log, "last of the old\n");
  fs.renameSync(log, `${log}.1`);
  fs.writeFileSync(log, "first of the new\n");
  expect([await logs.line(), await logs.line()]).toEqual(["last of the old", "first of the new"]);
  logs.child.kill("SIGINT");
  expect((await logs.ended()).exit).toBe(0);
});

test("a list of the real daemon is the same bytes as on the socket, and a table for people", async () => {
  const program = new Program();
  await program.run("daemon", "start");
  expect((await program.run("sessions", "list")).stdout).toBe(
    "No sessions are running.\nStart claude or codex in another terminal: it appears here.\n",
  );
  await program.observe(
    "s-working",
    { stream_state: "working" },
    {
      agent: "codex",
      cwd: program.home,
      model: "gpt\x1b[2J",
    },
  );
  await program.observe(
    "s-waiting",
    { stream_state: "waiting_for_permission" },
    { cwd: `${program.home}/日本` },
  );

  const json = await program.run("sessions", "list", "-o", "json");
  expect(`{"ok":true,"payload":${json.stdout.trimEnd()}}`).toBe(
    await program.ask("sessions", "list"),
  );

  const { stdout } = await program.run("sessions", "list");
  expect(stdout.replaceAll(/ \d+s /g, " 0s ")).toBe(`\
STATE               SINCE  AGENT   SESSION   DIRECTORY  MODEL
! needs permission  0s     claude  s-waitin  ~/日本
▸ working           0s     codex   s-workin  ~          gpt\\x1b[2J
`);
});

test("a window is reported with absolute folders, and taken back once", async () => {
  const program = new Program();
  await program.run("daemon", "start");
  await program.observe(
    "s1",
    { stream_state: "idle" },
    { cwd: path.join(fs.realpathSync(program.home), "app") },
  );
  const report = ["sessions", "window", "--key", "w1", "--folder", "./app", "--folder", "/other"];
  expect((await program.run(...report, "--tabs", "1")).stdout).toBe("Reported window w1.\n");
  const { sessions } = JSON.parse((await program.run("sessions", "list", "-o", "json")).stdout);
  expect(sessions[0].source).toEqual({ kind: "vs_code", window_key: "w1" });

  const takeBack = ["sessions", "window-unregister", "--key", "w1"];
  expect((await program.run(...takeBack)).stdout).toBe("Removed window w1.\n");
  expect((await program.run(...takeBack)).stdout).toBe("There was no window w1.\n");
});

test("colours are for terminals, or for those who insist", async () => {
  const program = new Program();
  await program.run("daemon", "start");
  await program.observe("s1", { stream_state: "waiting_for_input" });
  const isColoured = async (env: Record<string, string>) => {
    Object.assign(program.env, { NO_COLOR: "", ...env });
    return (await program.run("sessions", "list")).stdout.includes("\x1b[");
  };
  expect(await isColoured({})).toBe(false);
  expect(await isColoured({ FORCE_COLOR: "1" })).toBe(true);
  expect(await isColoured({ FORCE_COLOR: "1", NO_COLOR: "1" })).toBe(false);
});

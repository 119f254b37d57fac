import fs from "node:fs";
import path from "node:path";
import { parse } from "jsonc-parser";
import { expect, test, vi } from "vitest";
import { PATIENCE_MS, Program, pidsWith, root } from "./harness/program.ts";
import { Terminal } from "./harness/pty.ts";

// npm is started many times, and is slow on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

/** Somebody who has just fetched the repository, and whose npm has nothing in its cache. */
function aNewcomer(): Program {
  const program = new Program();
  program.env.npm_config_cache = path.join(program.home, "npm");
  program.env.npm_config_update_notifier = "false";
  return program;
}

test("what npm packs is the built program alone, and installs and runs without a network", async () => {
  const program = aNewcomer();
  const does = async (argv: string[], cwd?: string) => {
    const { exit, stdout, stderr } = await program.spawn(argv, cwd).ended();
    // A build that takes long says so.
    expect([exit, stderr.replace("Building …\n", "")]).toEqual([0, ""]);
    return stdout;
  };
  const pack = ["npm", "pack", "--silent", "--pack-destination", program.home];
  const tarball = (await does(pack, root)).trimEnd();
  const prefix = path.join(program.home, "installed");
  await does(["npm", "install", "-g", "--prefix", prefix, "--offline", `./${tarball}`]);

  const folder = path.join(prefix, "lib", "node_modules", "omni-dev");
  const items = fs.readdirSync(folder, { recursive: true, encoding: "utf8" });
  const files = items.filter((item) => fs.statSync(path.join(folder, item)).isFile()).sort();
  expect(files.filter((file) => !/^(dist\/[\w-]+\.c?js|docs\/.+\.md)$/.test(file))).toEqual([
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "dist/THIRD-PARTY-LICENSES",
    "dist/pi-extension.ts",
    "package.json",
  ]);
  const manifest = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));
  const kinds = Object.keys(manifest).filter((key) => /dependencies/i.test(key));
  expect(kinds).toEqual(["devDependencies"]);

  const installed = (...args: string[]) => does([path.join(prefix, "bin", "omni-dev"), ...args]);
  expect(await installed("--version")).toBe(`${manifest.version}\n`);
  expect(await installed("daemon", "start")).toBe(`The daemon is running at ${program.socket}.\n`);
  expect(await pidsWith(`${folder}/dist/omni-dev.js daemon run`)).toHaveLength(1);
  expect(await installed("sessions", "list", "-o", "json")).toBe('{"sessions":[]}\n');
  expect(await installed("daemon", "stop")).toBe("The daemon has stopped.\n");
});

test("a second version in another place changes no settings, and the hooks go on working", async () => {
  const program = aNewcomer();
  const settings = path.join(program.home, "settings.json");
  const bytes = () => fs.readFileSync(settings, "utf8");
  const install = async (name: string) => {
    const folder = path.join(program.home, name);
    fs.cpSync(path.join(root, "dist"), folder, { recursive: true });
    const bin = path.join(folder, "bin.cjs");
    const hooks = ["sessions", "install-hooks", "--settings", settings];
    const { exit } = await program.spawn([process.execPath, bin, ...hooks]).ended();
    expect(exit).toBe(0);
    return folder;
  };
  fs.writeFileSync(settings, '{\n\t"theme": "dark", // mine\n}\n');
  const first = await install("first");
  const before = bytes();
  const { hooks } = parse(before);
  await install("second");
  expect(bytes()).toBe(before);

  fs.rmSync(first, { recursive: true });
  await program.run("daemon", "start");
  const shell = program.spawn(["/bin/sh", "-c", hooks.Stop[0].hooks[0].command]);
  shell.child.stdin.end('{"session_id":"s1","hook_event_name":"Stop","cwd":"/w/app"}');
  expect(await shell.ended()).toEqual({ exit: 0, stdout: "", stderr: "" });
  expect(await program.list()).toMatchObject([{ session_id: "s1", state: "idle" }]);
});

/** Types `npm start` into a shell, and has a session appear. */
async function npmStart(program: Program): Promise<{ terminal: Terminal; npmPid: number }> {
  const pidFile = path.join(program.home, "pid");
  program.env.PS1 = "$ ";
  const terminal = new Terminal(program, ["sh"], { cwd: root });
  terminal.type(`sh -c 'echo $$ >${pidFile}; exec npm start'\r`);
  await terminal.shows("No sessions are running.");
  await program.observe("s1", { stream_state: "working" }, { cwd: path.join(program.home, "app") });
  await terminal.shows(/^▸ working +\d+s +claude +s1 +~\/app/m);
  expect(terminal.modes()).toEqual({ screen: "alternate", cursor: false, wrap: false });
  expect(fs.existsSync(program.socket)).toBe(true);
  const npmPid = Number(fs.readFileSync(pidFile, "utf8"));
  expect(await pidsWith(program.home)).toEqual(expect.arrayContaining([terminal.pid, npmPid]));
  return { terminal, npmPid };
}

test.each<[string, (terminal: Terminal, npmPid: number) => void]>([
  ["q", (terminal) => terminal.type("q")],
  ["Ctrl-C", (terminal) => terminal.type("\x03")],
  ["npm's SIGTERM", (_, npmPid) => void process.kill(npmPid, "SIGTERM")],
])("npm start is a live table until %s, and leaves nothing behind", async (_, end) => {
  const program = aNewcomer();
  const { terminal, npmPid } = await npmStart(program);
  end(terminal, npmPid);
  await terminal.shows(/\n\$\s*$/);
  expect(await pidsWith(program.home)).toEqual([terminal.pid]);
  expect(fs.existsSync(program.socket)).toBe(false);
  expect(terminal.modes()).toEqual({ screen: "normal", cursor: true, wrap: true });
  terminal.type("echo left $?\r");
  await terminal.shows(/^\$ echo left \$\?\nleft 0$/m);
});

test("npm start ends with its terminal, and leaves nothing behind", async () => {
  const program = aNewcomer();
  const { terminal } = await npmStart(program);
  terminal.close();
  const isOver = async () => expect(await pidsWith(program.home)).toEqual([]);
  await vi.waitFor(isOver, { timeout: PATIENCE_MS });
  expect(fs.existsSync(program.socket)).toBe(false);
});

test("npm start without a terminal prints the table once", async () => {
  const program = aNewcomer();
  const { exit, stdout } = await program.spawn(["npm", "start", "--silent"], root).ended();
  expect({ exit, stdout }).toEqual({
    exit: 0,
    stdout:
      "No sessions are running.\nStart claude or codex in another terminal: it appears here.\n",
  });
  expect(await pidsWith(program.home)).toEqual([]);
});

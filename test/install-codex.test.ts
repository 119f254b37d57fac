import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { Program } from "./harness/program.ts";

/** Somebody on whose PATH there is nothing but what a test puts there. */
class User extends Program {
  readonly bin = path.join(this.home, "bin");

  constructor() {
    super();
    fs.mkdirSync(this.bin);
    this.env.PATH = this.bin;
  }

  path(...names: string[]) {
    return path.join(this.home, ...names);
  }

  read(...names: string[]) {
    return fs.readFileSync(this.path(...names), "utf8");
  }

  write(text: string, ...names: string[]) {
    fs.mkdirSync(path.dirname(this.path(...names)), { recursive: true });
    fs.writeFileSync(this.path(...names), text);
  }

  hooks(...folder: string[]): Record<string, { hooks: { command: string }[] }[]> {
    return JSON.parse(this.read(...folder, "hooks.json")).hooks;
  }

  install(...options: string[]) {
    return this.run("sessions", "install-hooks", ...options);
  }

  uninstall(...options: string[]) {
    return this.run("sessions", "uninstall-hooks", ...options);
  }
}

const reminder = /Codex skips a hook until you trust it: .*\/hooks.* \(12 of 12\)/;

test("without a Codex nothing is made for one, and it is said; uninstall has nothing to say", async () => {
  const user = new User();
  const installed = await user.install();
  expect(installed).toMatchObject({ exit: 0 });
  expect(installed.stdout).toMatch(/^Codex was not found.*--codex-home/m);
  expect(fs.existsSync(user.path(".codex"))).toBe(false);
  const removed = await user.uninstall();
  expect(removed.exit).toBe(0);
  expect(removed.stdout).not.toMatch(/codex/i);
});

test("a Codex on PATH, or its folder, is enough; what install made goes with uninstall", async () => {
  const user = new User();
  fs.writeFileSync(path.join(user.bin, "codex"), "", { mode: 0o755 });
  const installed = await user.install();
  expect(installed).toMatchObject({ exit: 0 });
  expect(installed.stdout.match(new RegExp(reminder, "g"))).toHaveLength(1);
  expect(fs.statSync(user.path(".codex/hooks.json")).mode & 0o777).toBe(0o600);
  expect(Object.keys(user.hooks(".codex"))).toHaveLength(12);

  const removed = await user.uninstall();
  expect(removed.stdout).toMatch(/^Deleted: ~\/\.codex\/hooks\.json$/m);
  expect(removed.stdout).toContain("/hooks");
  expect(fs.readdirSync(user.path(".codex"))).toEqual([]);

  fs.rmSync(user.bin, { recursive: true });
  const again = await user.install();
  expect(again.stdout).toMatch(/^Created: ~\/\.codex\/hooks\.json$/m);
});

test("twice is once; the reminder comes until Codex has every hook on record, and that is only read", async () => {
  const user = new User();
  user.write("", ".codex", "config.toml");
  await user.install();
  const before = user.read(".codex", "hooks.json");
  const second = await user.install();
  expect(second.stdout).toMatch(/^Unchanged: ~\/\.codex\/hooks\.json$/m);
  expect(second.stdout).toMatch(reminder);

  const keys = Object.keys(user.hooks(".codex")).map((event) => {
    const name = event.replace(/(?<=[a-z])[A-Z]/g, "_$&").toLowerCase();
    return `[hooks.state."${user.path(".codex", "hooks.json")}:${name}:0:0"]\ntrusted_hash = "x"\n`;
  });
  user.write(keys.slice(1).join("\n"), ".codex", "config.toml");
  expect((await user.install()).stdout).toContain("(1 of 12)");
  const config = keys.join("\n");
  user.write(config, ".codex", "config.toml");
  expect((await user.install()).stdout).not.toContain("trust");
  expect(user.read(".codex", "config.toml")).toBe(config);
  expect(user.read(".codex", "hooks.json")).toBe(before);
});

test("the folder is the flag's, else CODEX_HOME's; the flags do not touch each other", async () => {
  const user = new User();
  user.env.CODEX_HOME = user.path("named by variable");
  await user.install("--codex-home", "its home");
  expect(Object.keys(user.hooks("its home"))).toHaveLength(12);
  expect(fs.existsSync(user.env.CODEX_HOME)).toBe(false);
  expect(fs.existsSync(user.path(".claude/settings.json"))).toBe(true);

  fs.mkdirSync(user.env.CODEX_HOME);
  await user.install("--settings", "claude's.json");
  expect(Object.keys(user.hooks("named by variable"))).toHaveLength(12);
  expect(fs.existsSync(user.path("claude's.json"))).toBe(true);

  const gone = await user.uninstall("--codex-home", "never was");
  expect(gone.stdout).toMatch(/^Unchanged: .*never was\/hooks\.json$/m);
  expect(fs.existsSync(user.path("never was"))).toBe(false);
});

test("a dry run tells the same, and makes nothing", async () => {
  const user = new User();
  fs.mkdirSync(user.path(".codex"));
  const { exit, stdout } = await user.install("--dry-run");
  expect(exit).toBe(0);
  expect(stdout).toMatch(/^Would create: ~\/\.codex\/hooks\.json$/m);
  expect(stdout).toMatch(reminder);
  expect(fs.readdirSync(user.path(".codex"))).toEqual([]);
});

test("hooks of others keep their places and bytes; what has to move is told", async () => {
  const user = new User();
  const theirs = '{"hooks":[{"type":"command","command":"a && b"}]}';
  const file = (groups: string) => `{\r\n\t"hooks": {\r\n\t\t"Stop": [${groups}]\r\n\t}\r\n}`;
  user.write(file(theirs), "dotfiles", "hooks.json");
  fs.mkdirSync(user.path(".codex"));
  fs.symlinkSync("../dotfiles/hooks.json", user.path(".codex/hooks.json"));

  await user.install();
  expect(user.hooks(".codex").Stop?.[0]).toEqual(JSON.parse(theirs));
  await user.uninstall();
  expect(user.read("dotfiles", "hooks.json")).toBe(file(theirs));
  expect(fs.lstatSync(user.path(".codex/hooks.json")).isSymbolicLink()).toBe(true);

  const older = '{"type":"command","command":"/gone/omni-dev sessions hook"}';
  user.write(file(`{"hooks":[${older}]},${theirs}`), "dotfiles", "hooks.json");
  const upgraded = await user.install();
  expect(upgraded.stdout).toMatch(/^ {2}brought up to date: Stop$/m);
  expect(upgraded.stderr).toMatch(/^No longer there: \/gone\/omni-dev$/m);
  await user.uninstall();
  expect(user.read("dotfiles", "hooks.json")).toBe(file(`{ "hooks": [] },${theirs}`));

  user.write(file(theirs.replace("[", `[${older},`)), "dotfiles", "hooks.json");
  const moved = await user.uninstall();
  expect(moved).toMatchObject({ exit: 0 });
  expect(moved.stderr).toMatch(/^Stop, group 0 .* Trust them again\.$/m);
  expect(user.read("dotfiles", "hooks.json")).toBe(file(theirs));
});

test("a file that cannot be edited stays, the text to paste is shown, and Claude's part is done", async () => {
  const user = new User();
  user.write('{"hooks":{"Stop":{}}}', ".codex", "hooks.json");
  const { exit, stderr } = await user.install();
  expect(exit).toBe(1);
  expect(stderr).toMatch(/^Left as it is: ~\/\.codex\/hooks\.json\. It has hooks for Stop/m);
  expect(stderr).toContain('"PermissionRequest"');
  expect(user.read(".codex", "hooks.json")).toBe('{"hooks":{"Stop":{}}}');
  expect(fs.existsSync(user.path(".claude/settings.json"))).toBe(true);
});

test("the installed command reports as codex, from a place with blanks and quotes", async () => {
  const user = new User();
  user.env.XDG_DATA_HOME = user.path("a b", "it's \\ $HOME");
  const installed = await user.install("--codex-home", "home", "--socket", user.socket);
  expect(installed.stderr).not.toContain("The launcher");
  await user.run("daemon", "start", "--socket", user.socket);
  const { command = "" } = user.hooks("home").SessionStart?.[0]?.hooks[0] ?? {};
  const shell = user.spawn(["/bin/sh", "-c", command]);
  shell.child.stdin.end('{"session_id":"s1","hook_event_name":"SessionStart","source":"startup"}');
  expect(await shell.ended()).toEqual({ exit: 0, stdout: "", stderr: "" });
  expect(await user.list()).toMatchObject([{ session_id: "s1", agent: "codex" }]);
  await user.run("daemon", "stop", "--socket", user.socket);
});

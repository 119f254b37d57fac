import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { entry, PATIENCE_MS, Program } from "./harness/program.ts";

const SETTING = "claudeCode.claudeProcessWrapper";

/** Somebody with VS Code. */
class User extends Program {
  readonly shim = path.join(path.dirname(this.socket), "claude-wrap");
  readonly settings = this.settingsOf("Code");

  constructor() {
    super();
    fs.mkdirSync(path.dirname(this.settings), { recursive: true });
  }

  settingsOf(editor: string): string {
    const base = process.platform === "darwin" ? "Library/Application Support" : "config";
    return path.join(this.home, base, editor, "User", "settings.json");
  }

  write(text: string, file = this.settings): void {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
  }

  read = (file = this.settings): string => fs.readFileSync(file, "utf8");

  install(...options: string[]) {
    return this.run("sessions", "install-wrapper", ...options);
  }

  uninstall(...options: string[]) {
    return this.run("sessions", "uninstall-wrapper", ...options);
  }
}

const commented = '// mine\n{\n  "editor.fontSize": 12, // big\n  "a": [1,],\n}\n';

test("it writes the shim, names it in the settings, and says what to do; twice is once", async () => {
  const user = new User();
  user.write(commented);
  const first = await user.install();
  expect(first).toMatchObject({ exit: 0, stderr: "" });
  expect(first.stdout).toMatch(/^Created: .*claude-wrap$/m);
  expect(first.stdout).toMatch(/^Changed: .*settings\.json\n {2}added: claudeCode\.claudeProcess/m);
  expect(first.stdout).toMatch(/^Editors found here: VS Code\.$/m);
  expect(first.stdout).toMatch(/reload the windows/);
  expect(user.read()).toBe(
    commented.replace(
      '  "a": [1,],\n',
      `  "a": [1,],\n  "${SETTING}": ${JSON.stringify(user.shim)},\n`,
    ),
  );
  const { mode } = fs.statSync(user.shim);
  expect(mode & 0o777).toBe(0o700);

  const [text, shim] = [user.read(), user.read(user.shim)];
  const second = await user.install();
  expect(second.stdout).not.toMatch(/Created|Changed/);
  expect([second.exit, user.read(), user.read(user.shim)]).toEqual([0, text, shim]);

  const removed = await user.uninstall();
  expect(removed).toMatchObject({ exit: 0, stderr: "" });
  expect(removed.stdout).toMatch(/reload the windows/);
  expect([user.read(), fs.existsSync(user.shim)]).toEqual([commented, false]);
  expect(await user.uninstall()).toMatchObject({ exit: 0, stderr: "" });
});

test("every editor is seen to, and a file that was made goes again", async () => {
  const user = new User();
  const cursor = user.settingsOf("Cursor");
  const insiders = user.settingsOf("Code - Insiders");
  user.write("{}", cursor);
  fs.mkdirSync(path.dirname(insiders), { recursive: true });
  const { stdout } = await user.install();
  expect(stdout).toContain("Editors found here: VS Code, VS Code Insiders, Cursor.");
  for (const file of [user.settings, cursor, insiders])
    expect(JSON.parse(user.read(file))).toEqual({ [SETTING]: user.shim });
  await user.uninstall();
  expect([fs.existsSync(user.settings), user.read(cursor), fs.existsSync(insiders)]).toEqual([
    false,
    "{}",
    false,
  ]);
});

test("without an editor the shim is there, the line to paste is told, and it fails", async () => {
  const user = new User();
  fs.rmSync(path.dirname(user.settings), { recursive: true });
  const { exit, stderr } = await user.install();
  expect(exit).toBe(1);
  expect(stderr).toContain("VS Code, VS Code Insiders, VSCodium, Cursor");
  expect(stderr).toContain(`"${SETTING}": ${JSON.stringify(user.shim)}`);
  expect(fs.existsSync(user.shim)).toBe(true);
  expect(fs.existsSync(user.settings)).toBe(false);
});

test.each([
  ["cut short", '{"a": '],
  ["a list", "[1]"],
  ["the setting twice", `{"${SETTING}":"", "${SETTING}":""}`],
  ["somebody else's wrapper", `{"${SETTING}": "/usr/local/bin/other"}`],
])("settings that are refused stay as they are, with the line to paste: %s", async (_, text) => {
  const user = new User();
  user.write(text);
  const { exit, stderr } = await user.install();
  expect([exit, user.read()]).toEqual([1, text]);
  expect(stderr).toMatch(/^Left as it is: .*settings\.json\. It /m);
  expect(stderr).toContain(`"${SETTING}": ${JSON.stringify(user.shim)}`);
  expect(fs.existsSync(user.shim)).toBe(true);
});

test("uninstall clears the setting only while it names our shim", async () => {
  const user = new User();
  await user.install();
  const other = JSON.stringify({ [SETTING]: "/usr/local/bin/other" });
  user.write(other);
  expect(await user.uninstall()).toMatchObject({ exit: 0 });
  expect([user.read(), fs.existsSync(user.shim)]).toEqual([other, false]);
});

test("an older shim of ours gives way to the new one, wherever it was", async () => {
  const user = new User();
  const older = path.join(user.home, "older");
  await user.install("--shim", older);
  expect(JSON.parse(user.read())).toEqual({ [SETTING]: older });
  await user.install();
  expect(JSON.parse(user.read())).toEqual({ [SETTING]: user.shim });
  user.write(JSON.stringify({ [SETTING]: "/gone/omni-dev/claude-wrap" }));
  expect((await user.install()).stdout).toContain(`brought up to date: ${SETTING}`);
});

test("the shim stays while other settings name it", async () => {
  const user = new User();
  const cursor = user.settingsOf("Cursor");
  user.write("{}", cursor);
  await user.install();
  const { stderr } = await user.uninstall("--settings", user.settings);
  expect(stderr).toContain("The shim stays");
  expect([fs.existsSync(user.settings), fs.existsSync(user.shim)]).toEqual([false, true]);
  await user.uninstall("--shim", path.join(user.home, "another"));
  expect(JSON.parse(user.read(cursor))).toEqual({ [SETTING]: user.shim });
  await user.uninstall();
  expect([user.read(cursor), fs.existsSync(user.shim)]).toEqual(["{}", false]);
});

test("a file or a link in the shim's place is somebody else's, and no settings name it", async () => {
  const user = new User();
  fs.mkdirSync(path.dirname(user.shim), { recursive: true });
  fs.writeFileSync(user.shim, "mine");
  const { exit, stderr } = await user.install();
  expect([exit, user.read(user.shim), fs.existsSync(user.settings)]).toEqual([1, "mine", false]);
  expect(stderr).toContain("not written by omni-dev");
  const removed = await user.uninstall();
  expect([removed.exit, user.read(user.shim)]).toEqual([0, "mine"]);
});

test("--dry-run only says what would change", async () => {
  const user = new User();
  user.write(commented);
  const { exit, stdout } = await user.install("--dry-run");
  expect([exit, user.read(), fs.existsSync(user.shim)]).toEqual([0, commented, false]);
  expect(stdout).toMatch(/^Would create: .*claude-wrap$/m);
  expect(stdout).toMatch(/^Would change: .*settings\.json$/m);
  await user.install();
  const installed = user.read();
  const removed = await user.uninstall("--dry-run");
  expect(removed.stdout).toMatch(/^Would delete: .*claude-wrap$/m);
  expect([user.read(), fs.existsSync(user.shim)]).toEqual([installed, true]);
});

test("files with odd names, and a socket of its own, are taken as they are", async () => {
  const user = new User();
  const odd = (name: string) => path.join(user.home, 'it\'s "odd" $HOME `x`', name);
  const named = ["--settings", odd("s.json"), "--shim", odd("shim"), "--socket", odd("d.sock")];
  expect(await user.install(...named)).toMatchObject({ exit: 0, stderr: "" });
  expect(JSON.parse(user.read(odd("s.json")))).toEqual({ [SETTING]: odd("shim") });
  const wrapped = user.spawn([odd("shim"), "/bin/echo", "$x", "'"]);
  wrapped.child.stdin.end();
  expect(await wrapped.ended()).toEqual({ exit: 0, stdout: "$x '\n", stderr: "" });
  expect(await user.uninstall(...named)).toMatchObject({ exit: 0 });
  expect(fs.readdirSync(odd("."))).toEqual([]);
});

test(
  "a shim that could not start Claude is not named anywhere",
  async () => {
    const user = new User();
    const folder = path.join(user.home, "copy");
    fs.cpSync(path.dirname(entry), folder, { recursive: true });
    fs.writeFileSync(path.join(folder, "claude-wrap.cjs"), "process.exit(1)");
    const { exit, stderr } = await user
      .spawn([process.execPath, path.join(folder, "omni-dev.js"), "sessions", "install-wrapper"])
      .ended();
    expect(exit).toBe(1);
    expect(stderr).toContain("It does not start what it is given (exit status 1).");
    expect(fs.existsSync(user.settings)).toBe(false);
  },
  PATIENCE_MS * 2,
);

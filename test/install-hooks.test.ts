import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { claudeSettingsPath } from "../src/install/claude.ts";
import { installHooks, uninstallHooks } from "../src/install/install-hooks.ts";
import { currentHost, type Host } from "../src/platform/paths.ts";

let home: string;
let settings: string;
let sink: string;
beforeEach(() => {
  home = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "omni-dev-test-")));
  settings = path.join(home, ".claude/settings.json");
  fs.mkdirSync(path.dirname(settings));
  // Stands for the sink where only its place matters.
  sink = path.join(home, "sink.cjs");
  fs.writeFileSync(sink, "process.exit(0)");
  fakeClaude("2.1.332");
});
afterEach(() => fs.rmSync(home, { recursive: true, force: true }));

function fakeClaude(version: string) {
  fs.mkdirSync(path.join(home, "bin"), { recursive: true });
  const script = `#!/bin/sh\necho "${version} (Claude Code)"\n`;
  fs.writeFileSync(path.join(home, "bin/claude"), script, { mode: 0o755 });
}

const hostWith = (env: Record<string, string> = {}): Host => ({
  ...currentHost(),
  home,
  cwd: home,
  platform: "linux",
  env: { HOME: home, PATH: path.join(home, "bin"), ...env },
});
type Options = Partial<Parameters<typeof installHooks>[0]>;
const install = ({ host = hostWith(), ...more }: Options = {}) =>
  installHooks({
    host,
    socketPath: path.join(home, "daemon.sock"),
    node: { path: process.execPath, sink },
    piExtension: "",
    ...more,
  });
const uninstall = (options: Options = {}) => uninstallHooks({ host: hostWith(), ...options });
const read = () => fs.readFileSync(settings, "utf8");
const write = (text: string) => fs.writeFileSync(settings, text);
const launcher = () => path.join(home, ".local/share/omni-dev/hook");
const outcomes = ({ files }: Awaited<ReturnType<typeof install>>) =>
  Object.fromEntries(files.map(({ kind, outcome }) => [kind, outcome]));

/** What there is of files and links below the home directory, with their contents. */
const tree = () =>
  fs.readdirSync(home, { recursive: true, encoding: "utf8", withFileTypes: true }).map((item) => {
    const file = path.join(item.parentPath, item.name);
    return [file, item.isFile() ? fs.readFileSync(file, "utf8") : ""];
  });

test("installs the launcher and one entry an event, and tells so", async () => {
  const report = await install();
  expect({ ...report, files: outcomes(report) }).toEqual({
    dryRun: false,
    ok: true,
    files: { launcher: "created", settings: "created" },
    claudes: [{ path: path.join(home, "bin/claude"), version: "2.1.332" }],
    events: expect.any(Array),
    deadPaths: [],
    warnings: [],
    notes: [
      expect.stringContaining("Codex was not found"),
      expect.stringContaining("pi was not found"),
    ],
  });
  expect(report.files.at(-1)?.added).toEqual(report.events);
  expect(report.events).toHaveLength(17);
  expect(fs.statSync(launcher()).mode & 0o7777).toBe(0o700);
  expect(fs.statSync(path.dirname(launcher())).mode & 0o7777).toBe(0o700);
  const { hooks } = JSON.parse(read());
  const withMatcher = Object.keys(hooks).filter((name) => hooks[name][0].matcher === "*");
  expect(withMatcher).toEqual([
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "PermissionDenied",
  ]);
});

test("twice is once, also from another place and another version", async () => {
  write('{"model":"m"}');
  await install();
  const before = tree();
  const elsewhere = { path: process.execPath, sink: path.join(home, "other/sink.cjs") };
  const report = await install({ node: elsewhere });
  expect([outcomes(report), tree()]).toEqual([
    { launcher: "unchanged", settings: "unchanged" },
    before,
  ]);
});

test("uninstall gives back the file, and a file that was not there is not there again", async () => {
  const original = '\uFEFF{\r\n\t"theme": "dark", // keep\r\n\t"hooks": {},\r\n}';
  write(original);
  await install();
  expect(outcomes(await uninstall())).toEqual({ settings: "changed" });
  expect(read()).toBe(original);
  fs.rmSync(settings);
  await install();
  expect(outcomes(await uninstall())).toEqual({ settings: "deleted" });
  expect(outcomes(await uninstall())).toEqual({ settings: "unchanged" });
});

test("a dry run says the same and does nothing, and names a program that is gone", async () => {
  const direct = JSON.stringify({ type: "command", command: "/gone/bin/omni-dev sessions hook" });
  write(`{"hooks":{"Stop":[{"hooks":[${direct}]}]}}`);
  const before = tree();
  const planned = await install({ dryRun: true });
  expect(tree()).toEqual(before);
  const done = await install();
  expect(planned).toEqual({ ...done, dryRun: true });
  expect(done).toMatchObject({ deadPaths: ["/gone/bin/omni-dev"] });
  expect(done.files.at(-1)?.upgraded).toEqual(["Stop"]);
  expect(JSON.parse(read()).hooks.Stop).toHaveLength(1);
  expect(await uninstall({ dryRun: true })).toMatchObject({ ok: true, dryRun: true });
  expect(JSON.parse(read()).hooks.Stop).toHaveLength(1);
});

test.each(["[1,2]", "null", "", '{"a":', '{"hooks":{},"hooks":{}}'])(
  "what is no settings file stays as it is, and the text to paste is told: %s",
  async (text) => {
    write(text);
    const report = await install();
    expect(report).toMatchObject({
      ok: false,
      files: [{ kind: "launcher" }, { outcome: "refused" }],
    });
    const { paste = "", reason } = report.files.at(-1) ?? {};
    expect(reason).toMatch(/^It .+\.$/);
    expect(Object.keys(JSON.parse(paste).hooks)).toEqual(report.events);
    expect(await uninstall()).toMatchObject({ ok: false, files: [{ outcome: "refused" }] });
    expect(read()).toBe(text);
  },
);

test("an older Claude gets only what it knows, and what it does not know is taken away", async () => {
  await install();
  fakeClaude("2.0.40");
  const report = await install();
  expect(report.files.at(-1)?.removed).toContain("PermissionRequest");
  expect(report.warnings).toEqual([expect.stringContaining("2.0.40")]);
  const names = Object.keys(JSON.parse(read()).hooks);
  expect(names).toEqual(report.events);
  expect(names.filter((name) => ["PermissionRequest", "StopFailure"].includes(name))).toEqual([]);
  expect(read()).not.toContain("async");
});

test("without a version the named set is installed, nothing is taken away, and it is said", async () => {
  await install();
  const before = read();
  fakeClaude("unknown");
  const report = await install();
  expect(report.events).toHaveLength(9);
  expect(report.warnings).toEqual([expect.stringContaining("version unknown")]);
  expect(read()).toBe(before);
  fs.rmSync(path.join(home, "bin"), { recursive: true });
  expect((await install()).warnings).toEqual([expect.stringContaining("No Claude Code was found")]);
});

test("spaces, quotes, backslashes and dollars in paths do no harm", async () => {
  const odd = path.join(home, "a b", 'it\'s \\ $HOME "q" `id`');
  const report = await install({ host: hostWith({ XDG_DATA_HOME: odd }) });
  // Delivery by the installed command is tried at the end of every install.
  expect(report).toMatchObject({ ok: true, warnings: [] });
  expect(fs.existsSync(path.join(odd, "omni-dev/hook"))).toBe(true);
  expect(outcomes(await install({ host: hostWith({ XDG_DATA_HOME: odd }) }))).toEqual({
    launcher: "unchanged",
    settings: "unchanged",
  });
});

test("the settings file is the given one, else that of the profile, taken as Claude takes it", async () => {
  const at = (env: Record<string, string>) => claudeSettingsPath(hostWith(env));
  expect([at({}), at({ CLAUDE_CONFIG_DIR: "/p2" }), at({ CLAUDE_CONFIG_DIR: "" })]).toEqual([
    settings,
    "/p2/settings.json",
    path.join(home, "settings.json"),
  ]);
  await install({ settingsPath: "mine.json" });
  expect([fs.existsSync(path.join(home, "mine.json")), fs.existsSync(settings)]).toEqual([
    true,
    false,
  ]);
});

test("where only Node can send, a copy of the sink beside the launcher does it", async () => {
  // A sink that passes on whatever it gets is enough here.
  fs.writeFileSync(
    sink,
    `const { connect } = require("node:net");
     const at = process.argv.indexOf("--socket");
     const socket = connect(process.argv[at + 1]);
     socket.on("error", () => process.exit(0)).on("data", () => process.exit(0));
     socket.write("{}\\n");
     process.stdin.pipe(socket);
     setTimeout(() => process.exit(0), 1000);`,
  );
  const senders = [{ kind: "node", path: process.execPath, sink } as const];
  const report = await install({ senders });
  expect(report).toMatchObject({ ok: true, warnings: [] });
  expect(outcomes(report)).toEqual({ sink: "created", launcher: "created", settings: "created" });
  fs.rmSync(sink);
  const { command } = JSON.parse(read()).hooks.Stop[0].hooks[0];
  expect(execFileSync("/bin/sh", ["-c", command], { input: "{}", encoding: "utf8" })).toBe("");
});

test("where nothing can send, or the launcher has no place, no settings are touched", async () => {
  const nothing = await install({ senders: [] });
  expect(nothing).toMatchObject({ ok: false, files: [{ kind: "launcher", outcome: "refused" }] });
  fs.mkdirSync(path.join(home, ".local/share"), { recursive: true });
  fs.writeFileSync(path.join(home, ".local/share/omni-dev"), "");
  const inTheWay = await install();
  expect(inTheWay).toMatchObject({ ok: false, files: [{ kind: "launcher", outcome: "refused" }] });
  expect(fs.existsSync(settings)).toBe(false);
});

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { currentHost } from "../platform/paths.ts";
import { eventsKnownTo, findClaudes } from "./claude-versions.ts";

let home: string;
beforeEach(() => {
  home = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "omni-dev-test-")));
});
afterEach(() => fs.rmSync(home, { recursive: true, force: true }));

const minimal = [
  "SessionStart",
  "UserPromptSubmit",
  "PreToolUse",
  "PostToolUse",
  "Notification",
  "SubagentStop",
  "PreCompact",
  "Stop",
  "SessionEnd",
];
const at = (version?: string) => (version ? { path: version, version } : { path: "?" });

test("each version gets the events that it knows", () => {
  const added = (version: string, older: string) => {
    const before = eventsKnownTo([at(older)]).events;
    return eventsKnownTo([at(version)]).events.filter((name) => !before.includes(name));
  };
  expect({
    "2.0.40": eventsKnownTo([at("2.0.40")]).events,
    "2.0.43": added("2.0.43", "2.0.42"),
    "2.0.45": added("2.0.45", "2.0.44"),
    "2.0.64": added("2.0.64", "2.0.63"),
    "2.1.76": added("2.1.76", "2.1.75"),
    "2.1.78": added("2.1.78", "2.1.77"),
    "2.1.88": added("2.1.88", "2.1.87"),
    later: added("10.0.0-beta.1", "2.1.88"),
    all: eventsKnownTo([at("2.1.332")]).events.length,
  }).toEqual({
    "2.0.40": minimal,
    "2.0.43": ["SubagentStart"],
    "2.0.45": ["PermissionRequest"],
    "2.0.64": ["PostToolUseFailure"],
    "2.1.76": ["Elicitation", "ElicitationResult", "PostCompact"],
    "2.1.78": ["StopFailure"],
    "2.1.88": ["PermissionDenied"],
    later: [],
    all: 17,
  });
});

test("the oldest Claude decides, and is named", () => {
  const { events, unknown, limitedBy, isMinimal } = eventsKnownTo([at("2.1.332"), at("2.1.77")]);
  expect({ count: events.length, unknown, limitedBy, isMinimal }).toEqual({
    count: 15,
    unknown: ["PermissionDenied", "StopFailure"],
    limitedBy: [at("2.1.77")],
    isMinimal: false,
  });
});

test("without a version, or without any Claude, it is the minimal set, and nothing counts as unknown", () => {
  const expected = { events: minimal, unknown: [], isMinimal: true };
  expect(eventsKnownTo([])).toMatchObject({ ...expected, limitedBy: [] });
  expect(eventsKnownTo([at("2.1.332"), at()])).toMatchObject({ ...expected, limitedBy: [at()] });
  expect(eventsKnownTo([at("1.0.60"), at()]).events).not.toContain("SessionStart");
});

test("every Claude on PATH, in its own places and inside editors is found", async () => {
  const put = (file: string, contents: string) => {
    fs.mkdirSync(path.dirname(path.join(home, file)), { recursive: true });
    fs.writeFileSync(path.join(home, file), contents, { mode: 0o755 });
    return path.join(home, file);
  };
  const says = (version: string) =>
    `#!/bin/sh\n[ "$1" = --version ] && echo "${version} (Claude Code)"\n`;
  const manifest = (version: string) => JSON.stringify({ name: "claude-code", version });
  const first = put("bin/claude", says("2.0.40"));
  const second = put("other/claude", says("2.1.332"));
  fs.mkdirSync(path.join(home, "again"));
  fs.symlinkSync(second, path.join(home, "again/claude"));
  const local = put(".claude/local/claude", says("2.1.50"));
  const silent = put("silent/claude", "#!/bin/sh\nexit 1\n");
  const native = put(".local/share/claude/versions/2.1.99", "#!/bin/sh\nexit 1\n");
  fs.mkdirSync(path.join(home, ".local/bin"));
  fs.symlinkSync(native, path.join(home, ".local/bin/claude"));
  const extensions = ".vscode/extensions";
  const named = "anthropic.claude-code-2.1.300-linux-x64";
  put(`${extensions}/${named}/package.json`, manifest("2.1.301"));
  put(`${extensions}/anthropic.claude-code-1.0.0/package.json`, manifest("1.0.0"));
  put(`${extensions}/.obsolete`, '{"anthropic.claude-code-1.0.0":true}');
  put(`${extensions}/somebody.else-1.0.0/package.json`, manifest("0.0.1"));
  put(".cursor/extensions/anthropic.claude-code-2.1.7-universal/other.txt", "");
  put("not-executable/claude", "");
  fs.chmodSync(path.join(home, "not-executable/claude"), 0o644);

  const folders = ["bin", "other", "again", "silent", "not-executable", "nowhere"];
  const PATH = [...folders.map((it) => path.join(home, it)), "relative", "/usr/bin", "/bin"];
  const env = { ...process.env, PATH: PATH.join(":") };
  const claudes = await findClaudes({ ...currentHost(), home, env });
  expect(claudes.filter(({ path: it }) => it.startsWith(home))).toEqual([
    { path: first, version: "2.0.40" },
    { path: second, version: "2.1.332" },
    { path: silent },
    { path: local, version: "2.1.50" },
    { path: path.join(home, ".local/bin/claude"), version: "2.1.99" },
    { path: path.join(home, extensions, named), version: "2.1.301" },
    {
      path: path.join(home, ".cursor/extensions/anthropic.claude-code-2.1.7-universal"),
      version: "2.1.7",
    },
  ]);
});

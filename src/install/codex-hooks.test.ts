import { expect, test } from "vitest";
import { hooksToPaste, installHooks, removeHooks, untrustedIn } from "./codex-hooks.ts";
import { agentHookCommand, hookCommand } from "./own-command.ts";

const command = agentHookCommand("/d/omni-dev/hook", "codex");
const ours = { type: "command", command };
const untagged = { type: "command", command: "/a/bin/omni-dev sessions hook --socket /s" };
const theirs = { type: "command", command: "theirs" };
const inert = { hooks: [] };

const events = [
  "SessionStart",
  "UserPromptSubmit",
  "PreToolUse",
  "PostToolUse",
  "PermissionRequest",
  "Stop",
  "Interrupt",
  "SubagentStart",
  "SubagentStop",
  "PreCompact",
  "PostCompact",
  "SessionEnd",
];

const fileWith = (hooks: object) => JSON.stringify({ hooks }, null, 2);
const hooksIn = (text: string) => JSON.parse(text).hooks ?? {};
const groupOf = (...hooks: object[]) => ({ hooks });
const install = (hooks: object) => installHooks(fileWith(hooks), command);
const remove = (hooks: object) => removeHooks(fileWith(hooks));

test("a new file has an entry for each event, with the matchers and timeouts that Codex needs", () => {
  const { text, added } = installHooks(undefined, command);
  const group = groupOf(ours);
  const brief = groupOf({ ...ours, timeout: 3 });
  expect(added).toEqual(events);
  expect(JSON.parse(text)).toEqual({
    hooks: {
      ...Object.fromEntries(events.map((event) => [event, [group]])),
      PreToolUse: [{ matcher: "*", ...group }],
      PostToolUse: [{ matcher: "*", ...group }],
      Interrupt: [brief],
      SessionEnd: [brief],
    },
  });
  expect(hooksToPaste(command)).toBe(text);
  expect(removeHooks(text)).toMatchObject({ deletable: true, removed: events, warnings: [] });
});

test("groups of others stay where they are, and ours are added behind them", () => {
  const before = { Stop: [groupOf(theirs), inert, groupOf(theirs, theirs)], Other: [groupOf()] };
  const { text } = install(before);
  expect(hooksIn(text)).toMatchObject({ ...before, Stop: [...before.Stop, groupOf(ours)] });
});

test("entries of ours in other words are rewritten where they sit", () => {
  const inClaudesWords = { type: "command", command: hookCommand("/old/omni-dev/hook") };
  const { text, added, upgraded, formerPrograms, warnings } = install({
    Stop: [groupOf(untagged), groupOf(theirs)],
    SessionStart: [{ matcher: "*", hooks: [theirs, { ...inClaudesWords, timeout: 9 }, theirs] }],
  });
  expect(hooksIn(text)).toMatchObject({
    Stop: [groupOf(ours), groupOf(theirs)],
    SessionStart: [{ matcher: "*", hooks: [theirs, { ...ours, timeout: 9 }, theirs] }],
  });
  expect(added).toEqual(events.filter((event) => !["Stop", "SessionStart"].includes(event)));
  expect({ upgraded, formerPrograms, warnings }).toEqual({
    upgraded: ["Stop", "SessionStart"],
    formerPrograms: ["/a/bin/omni-dev", "/old/omni-dev/hook"],
    warnings: [],
  });
});

test("of several entries for one event the current one stays, else the first", () => {
  const { text } = install({
    Stop: [groupOf(untagged), groupOf(theirs), groupOf(ours), groupOf(untagged)],
    SessionStart: [groupOf(untagged), groupOf(untagged), groupOf(theirs)],
  });
  expect(hooksIn(text)).toMatchObject({
    Stop: [inert, groupOf(theirs), groupOf(ours)],
    SessionStart: [groupOf(ours), inert, groupOf(theirs)],
  });
});

test("an entry for some tools only gives way to one for all, behind all others", () => {
  const { text } = install({
    PreToolUse: [{ matcher: "Bash", hooks: [untagged] }, groupOf(theirs)],
  });
  expect(hooksIn(text).PreToolUse).toEqual([
    inert,
    groupOf(theirs),
    { matcher: "*", hooks: [ours] },
  ]);
});

test("an entry for an event that is not asked for goes, and nothing behind it moves", () => {
  const { text, removed } = install({ PreModelRequest: [groupOf(untagged), groupOf(theirs)] });
  expect(removed).toEqual(["PreModelRequest"]);
  expect(hooksIn(text).PreModelRequest).toEqual([inert, groupOf(theirs)]);
});

test.each<[string, object[], object[] | undefined]>([
  ["alone", [groupOf(ours)], undefined],
  ["behind others", [groupOf(theirs), groupOf(ours)], [groupOf(theirs)]],
  ["before others", [groupOf(ours), groupOf(theirs)], [inert, groupOf(theirs)]],
  ["behind an earlier placeholder", [inert, groupOf(ours)], undefined],
  ["before one", [groupOf(ours), inert, groupOf(untagged)], undefined],
  [
    "before one and others",
    [groupOf(ours), inert, groupOf(theirs)],
    [inert, inert, groupOf(theirs)],
  ],
  ["behind others in their group", [groupOf(theirs, ours)], [groupOf(theirs)]],
  ["in a group with a note", [{ note: 1, hooks: [ours] }], [{ note: 1, hooks: [] }]],
  ["before a note", [groupOf(ours), { note: 1, hooks: [] }], [inert, { note: 1, hooks: [] }]],
  [
    "before a matcher",
    [groupOf(ours), { matcher: "x", hooks: [] }],
    [inert, { matcher: "x", hooks: [] }],
  ],
  ["before what is no group", [groupOf(ours), {}], [inert, {}]],
])("uninstall leaves a placeholder only where others follow: ours %s", (_, before, after) => {
  const { text, warnings } = remove({ Stop: before, Other: [groupOf()] });
  expect(hooksIn(text)).toEqual({ ...(after ? { Stop: after } : {}), Other: [groupOf()] });
  expect(warnings).toEqual([]);
});

test("a hook that has to move is told of, on uninstall and on install", () => {
  const mixed = { Stop: [groupOf(), groupOf(theirs, ours, theirs)] };
  const removed = remove(mixed);
  expect(hooksIn(removed.text)).toEqual({ Stop: [groupOf(), groupOf(theirs, theirs)] });
  expect(removed.warnings).toEqual([expect.stringMatching(/^Stop, group 1 \(counted from 0\): /)]);
  const narrow = { PreToolUse: [{ matcher: "Bash", hooks: [ours, theirs] }] };
  expect(install(narrow).warnings).toEqual([expect.stringMatching(/^PreToolUse, group 0 /)]);
});

test("inert groups in events without an entry of ours are nobody's business", () => {
  const before = fileWith({ Stop: [inert], Other: [groupOf(theirs), inert] });
  expect(removeHooks(before)).toMatchObject({ text: before, deletable: false, removed: [] });
});

test("a placeholder stands in the bytes of others as it is", () => {
  const before =
    '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"omni-dev sessions hook"}]} , {"hooks":[{"type":"command","command":"theirs"}]}]}}';
  const after =
    '{"hooks":{"Stop":[{ "hooks": [] } , {"hooks":[{"type":"command","command":"theirs"}]}]}}';
  expect(removeHooks(before).text).toBe(after);
  expect(removeHooks(after).text).toBe(after);
});

test("a file that Codex cannot read is edited all the same, and it is said", () => {
  const before = '{ "hooks": {}, } // mine';
  const { text, warnings } = installHooks(before, command);
  expect(warnings).toEqual([expect.stringContaining("plain JSON only")]);
  expect(removeHooks(text).text).toBe(before);
});

test.each([
  ['{"hooks":[]}', 'has "hooks" that are no object'],
  ['{"hooks":{"Stop":{}}}', "has hooks for Stop that are no array"],
  ['{"hooks":{"Stop":null}}', "has hooks for Stop that are no array"],
  ['{"hooks":{"Stop":[],"Stop":[]}}', 'has the key "Stop" twice in one object'],
])("what cannot be edited is refused with the reason: %s", (text, reason) => {
  expect(() => installHooks(text, command)).toThrow(reason);
});

test("an entry counts as trusted when Codex's settings have its key, by either path", () => {
  const text = fileWith({ Stop: [inert, groupOf(ours)], PreToolUse: [groupOf(theirs, ours)] });
  const files = ['/a "b"/hooks.json', "/real/hooks.json"];
  const untrusted = (config: string) =>
    untrustedIn(text, { files, config }).untrusted.map(({ event }) => event);
  const other = '[hooks.state."/real/hooks.json:stop:1:0x"]\n[hooks.state."/x:stop:1:0"]';
  expect([
    untrusted(other),
    untrusted('[hooks.state."/real/hooks.json:stop:1:0"]\ntrusted_hash = "sha256:00"'),
    untrusted('[hooks.state."/a \\"b\\"/hooks.json:pre_tool_use:0:1"]'),
    untrusted("[hooks.state.'/a \"b\"/hooks.json:pre_tool_use:0:1']"),
  ]).toEqual([["Stop", "PreToolUse"], ["PreToolUse"], ["Stop"], ["Stop"]]);
});

import { expect, test } from "vitest";
import { installHooks, removeHooks } from "./claude-hooks.ts";
import { hookCommand } from "./own-command.ts";

const command = hookCommand("/d/omni-dev/hook");
const wanted = { command, events: ["Stop", "PreToolUse"], unknown: [] };
const json = JSON.stringify(command);
const direct = '{ "type": "command", "command": "/a/bin/omni-dev sessions hook", "timeout": 60 }';

test("a new file gets the entries and a final newline, and goes with them", () => {
  const { text } = installHooks(undefined, { ...wanted, events: ["PreToolUse"] });
  expect(text).toBe(`{
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "*",
        "hooks": [
          {
            "type": "command",
            "command": ${json},
            "timeout": 3
          }
        ]
      }
    ]
  }
}
`);
  expect(removeHooks(text)).toMatchObject({ deletable: true, removed: ["PreToolUse"] });
});

test("comments, tabs, CRLF and a missing final newline stay, and ours is laid out alike", () => {
  const before = [
    "{ // keep",
    '\t"theme": "dark",',
    '\t"env": { "RUN": "a && b > c" },',
    '\t"hooks": {',
    '\t\t"Stop": [',
    '\t\t\t{ "hooks": [] } // mine',
    "\t\t]",
    "\t}",
    "}",
  ].join("\r\n");
  const { text, added } = installHooks(before, { ...wanted, events: ["Stop"] });
  expect({ added, lines: text.split("\r\n") }).toEqual({
    added: ["Stop"],
    lines: [
      "{ // keep",
      '\t"theme": "dark",',
      '\t"env": { "RUN": "a && b > c" },',
      '\t"hooks": {',
      '\t\t"Stop": [',
      '\t\t\t{ "hooks": [] }, // mine',
      "\t\t\t{",
      '\t\t\t\t"hooks": [',
      "\t\t\t\t\t{",
      '\t\t\t\t\t\t"type": "command",',
      `\t\t\t\t\t\t"command": ${json},`,
      '\t\t\t\t\t\t"timeout": 3',
      "\t\t\t\t\t}",
      "\t\t\t\t]",
      "\t\t\t}",
      "\t\t]",
      "\t}",
      "}",
    ],
  });
});

test("a file on one line stays on one line", () => {
  const { text } = installHooks('{"a":1,}', { ...wanted, events: ["Stop"] });
  expect(text).toBe(
    `{"a":1,"hooks": { "Stop": [ { "hooks": [ { "type": "command", "command": ${json}, "timeout": 3 } ] } ] },}`,
  );
});

test.each(['{"hooks":{}}', '{"hooks":{"Stop":[]}}', "{}", "{ }", '{"hooks":{/**/}}'])(
  "containers that were empty before are left empty: %s",
  (before) => {
    const { text } = installHooks(before, wanted);
    expect(removeHooks(text)).toMatchObject({ text: before, deletable: false });
  },
);

test("a foreign hook in the same group as ours stays, and its group", () => {
  const foreign = '{"type":"command","command":"x"}';
  const entry = `{"type":"command","command":${json}}`;
  const text = (hooks: string) => `{"hooks":{"Stop":[{"hooks":[${hooks}]}]}}`;
  const removed = [`${foreign},${entry}`, `${entry},${foreign}`].map(
    (hooks) => removeHooks(text(hooks)).text,
  );
  expect(removed).toEqual([text(foreign), text(foreign)]);
});

test("an older direct entry is brought up to date where it stands, its own settings kept", () => {
  const before = `{"hooks":{"Stop":[{"hooks":[ ${direct} ]},{"hooks":[]}]}}`;
  expect(installHooks(before, { ...wanted, events: ["Stop"] })).toEqual({
    text: before.replace('"/a/bin/omni-dev sessions hook"', json),
    added: [],
    upgraded: ["Stop"],
    removed: [],
    formerPrograms: ["/a/bin/omni-dev"],
    warnings: [],
  });
});

test("of several entries of ours for one event one stays, the one for all tools", () => {
  const before = `{"hooks":{"PreToolUse":[
    {"matcher":"Bash","hooks":[${direct}]},
    {"matcher":"","hooks":[${direct}]},
    {"hooks":[{"type":"command","command":"x"},{"type":"command","command":${json}}]}]}}`;
  const { text, upgraded } = installHooks(before, { ...wanted, events: ["PreToolUse"] });
  const hook = { type: "command", command, timeout: 60 };
  expect({ upgraded, hooks: JSON.parse(text).hooks }).toEqual({
    upgraded: ["PreToolUse"],
    hooks: {
      PreToolUse: [{ matcher: "", hooks: [hook] }, { hooks: [{ type: "command", command: "x" }] }],
    },
  });
});

test("an entry for some tools only gives way to one for all", () => {
  const before = `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[${direct}]}]}}`;
  const changes = installHooks(before, { ...wanted, events: ["PreToolUse"] });
  expect(changes).toMatchObject({ added: [], upgraded: ["PreToolUse"], removed: [] });
  expect(JSON.parse(changes.text).hooks.PreToolUse).toEqual([
    { matcher: "*", hooks: [{ type: "command", command, timeout: 3 }] },
  ]);
});

test("an entry for an event that a Claude does not know goes", () => {
  const before = installHooks("{}", { ...wanted, events: ["Stop", "StopFailure"] }).text;
  const after = installHooks(before, { ...wanted, events: ["Stop"], unknown: ["StopFailure"] });
  expect(after).toMatchObject({ added: [], upgraded: [], removed: ["StopFailure"] });
  expect(Object.keys(JSON.parse(after.text).hooks)).toEqual(["Stop"]);
});

test("a larger command that runs omni-dev is its author's", () => {
  const before = `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"log; omni-dev sessions hook"}]}]}}`;
  expect(removeHooks(before)).toMatchObject({ text: before, removed: [] });
});

test("hooks that are turned off are told", () => {
  expect(installHooks('{"disableAllHooks": true}', wanted).warnings).toHaveLength(1);
});

test.each([
  ["[1,2]", "holds no JSON object"],
  ["null", "holds no JSON object"],
  ["", "is empty"],
  [" \r\n", "is empty"],
  ['{"a":', "is no valid JSON, not even with comments (line 1)"],
  ['{\n"a":1,,}', "is no valid JSON, not even with comments (line 2)"],
  ["// only a comment", "is no valid JSON, not even with comments (line 1)"],
  ['{"hooks":{},"hooks":{}}', 'has the key "hooks" twice in one object'],
  ['{"hooks":{"Stop":[],"Stop":[]}}', 'has the key "Stop" twice in one object'],
  ['{"hooks":[]}', 'has "hooks" that are no object'],
  ['{"hooks":{"Stop":{}}}', "has hooks for Stop that are no array"],
])("what cannot be edited is refused with the reason: %s", (text, reason) => {
  expect(() => installHooks(text, wanted)).toThrow(reason);
});

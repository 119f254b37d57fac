import fs from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { tempDir } from "../../test/harness/test-daemon.ts";
import type { Host } from "../platform/paths.ts";
import {
  clearWrapper,
  findEditorSettings,
  setWrapper,
  WRAPPER_SETTING,
} from "./vscode-settings.ts";

const SHIM = "/home/user/.local/share/omni-dev/claude-wrap";
const isOurs = (program: string) => program === SHIM || program === "/old/claude-wrap";
const key = `"${WRAPPER_SETTING}"`;

const set = (text?: string) => setWrapper(text, SHIM, isOurs);

test("a new file holds the setting and nothing else, and can go again", () => {
  const { text, what } = set();
  expect([text, what]).toEqual([`{\n  ${key}: "${SHIM}"\n}\n`, "added"]);
  expect(clearWrapper(text, isOurs)).toMatchObject({ deletable: true, what: "removed" });
});

test.each([
  "{}",
  "{ }",
  "{\n}\n",
  '{\n\t"a": 1,\n}\n',
  '\uFEFF{"a":1}\r\n',
  '// mine\r\n{\r\n    "a": [1, 2,], // one\r\n    /* two */ "b": { "c": null }\r\n    // three\r\n}\r\n// four',
  '{"a":1,/* last */}',
  "{\n  // nothing yet\n}",
])("everything around it stays, to the byte: %j", (before) => {
  const { text, what } = set(before);
  expect(what).toBe("added");
  expect(set(text)).toMatchObject({ text, what: "nothing" });
  expect(clearWrapper(text, isOurs)).toMatchObject({ text: before, what: "removed" });
});

test("any settings are the same again afterwards", () => {
  const json = fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue(), { maxKeys: 5 });
  const space = fc.constantFrom(undefined, 2, "\t");
  fc.assert(
    fc.property(json, space, (value, indent) => {
      const before = JSON.stringify(value, null, indent);
      const { text } = set(before);
      expect(JSON.parse(text)).toEqual({ ...JSON.parse(before), [WRAPPER_SETTING]: SHIM });
      expect(clearWrapper(text, isOurs).text).toBe(before);
    }),
  );
});

test.each([
  ["an older one of ours", '"/old/claude-wrap"', "upgraded"],
  ["nothing", '""', "added"],
  ["null", "null", "added"],
])("%s gives way, and only the value changes", (_, value, what) => {
  const around = (it: string) => `{ "a": 1, ${key} : ${it} /* here */, "b": 2 }`;
  expect(set(around(value))).toEqual({ text: around(`"${SHIM}"`), what });
});

test.each([
  [`{${key}: "/usr/bin/other"}`, "names another wrapper already: /usr/bin/other"],
  [`{${key}: ["x"]}`, `has a ${WRAPPER_SETTING} that is no text`],
  [`{${key}: "${SHIM}", ${key}: "${SHIM}"}`, `has the key ${key} twice in one object`],
  ["[1]", "holds no JSON object"],
  ['{"a":', "is no valid JSON, not even with comments (line 1)"],
  ["", "is empty"],
])("%j is refused", (text, reason) => {
  expect(() => set(text)).toThrow(reason);
});

test.each([`{${key}: "/usr/bin/other"}`, `{${key}: 1}`, "{}", `{"x":{${key}: "${SHIM}"}}`])(
  "there is nothing to take out of %j",
  (text) => {
    expect(clearWrapper(text, isOurs)).toEqual({ text, what: "nothing" });
  },
);

test("the settings of all editors that are there are found, of profiles and of servers", () => {
  const home = tempDir();
  const host = { env: {}, platform: "linux", home } as unknown as Host;
  expect(findEditorSettings(host)).toEqual([]);
  for (const folder of [
    ".config/Code/User/profiles/b",
    ".config/Code/User/profiles/a",
    ".config/Cursor/User",
    ".config/VSCodium",
    ".vscode-server/data/Machine",
    "xdg/Code - Insiders/User",
    "Library/Application Support/Code/User",
  ])
    fs.mkdirSync(path.join(home, folder), { recursive: true });
  fs.writeFileSync(path.join(home, ".config/Code/User/profiles/a/settings.json"), "{}");
  const found = (changes: Partial<Host>) =>
    findEditorSettings({ ...host, ...changes }).map(({ editor, path: file }) => [
      editor,
      path.relative(home, file),
    ]);
  const server = ["VS Code", ".vscode-server/data/Machine/settings.json"];
  expect(found({})).toEqual([
    ["VS Code", ".config/Code/User/settings.json"],
    server,
    ["VS Code", ".config/Code/User/profiles/a/settings.json"],
    ["Cursor", ".config/Cursor/User/settings.json"],
  ]);
  expect(found({ env: { XDG_CONFIG_HOME: path.join(home, "xdg") } })).toEqual([
    server,
    ["VS Code Insiders", "xdg/Code - Insiders/User/settings.json"],
  ]);
  expect(found({ platform: "darwin" })).toEqual([
    ["VS Code", "Library/Application Support/Code/User/settings.json"],
    server,
  ]);
});

import fc from "fast-check";
import { parse } from "jsonc-parser";
import { expect, test } from "vitest";
import { installHooks, removeHooks } from "./claude-hooks.ts";
import * as codex from "./codex-hooks.ts";
import { agentHookCommand, hookCommand } from "./own-command.ts";

const events = ["SessionStart", "PreToolUse", "PostToolUse", "Stop", "PermissionRequest"];
const command = hookCommand("/home/u/.local/share/omni-dev/hook");
const wanted = { command, events, unknown: [] };

const ours = (event: string) => ({
  ...(event.startsWith("P") ? { matcher: "*" } : {}),
  hooks: [{ type: "command", command, timeout: 3 }],
});
const read = (text: string) => parse(text.replace(/^\uFEFF/, ""), [], { allowTrailingComma: true });

test("install then uninstall gives back the bytes of any settings file", () => {
  fc.assert(
    fc.property(aSettingsText(), (text) => {
      expect(removeHooks(installHooks(text, wanted).text)).toMatchObject({
        text,
        deletable: false,
      });
    }),
    { numRuns: 1000 },
  );
});

test("install adds one group to each event and changes nothing else", () => {
  fc.assert(
    fc.property(aSettingsText(), (text) => {
      const before = read(text);
      const hooks = { ...before.hooks };
      for (const event of events) hooks[event] = [...(hooks[event] ?? []), ours(event)];
      expect(read(installHooks(text, wanted).text)).toEqual({ ...before, hooks });
    }),
    { numRuns: 300 },
  );
});

test("a second install changes no byte", () => {
  fc.assert(
    fc.property(aSettingsText(), (text) => {
      const once = installHooks(text, wanted).text;
      expect(installHooks(once, wanted)).toMatchObject({ text: once, added: [], upgraded: [] });
    }),
    { numRuns: 300 },
  );
});

test("the same holds for Codex's file, where no event ends in what may be our placeholder", () => {
  const current = agentHookCommand("/home/u/.local/share/omni-dev/hook", "codex");
  const isInert = (group: unknown) => JSON.stringify(group) === '{"hooks":[]}';
  fc.assert(
    fc.property(aSettingsText(), (text) => {
      const groups = Object.values<unknown[]>(read(text).hooks ?? {});
      fc.pre(!groups.some((all) => isInert(all.at(-1))));
      const once = codex.installHooks(text, current).text;
      const twice = codex.installHooks(once, current);
      expect(twice).toMatchObject({ text: once, added: [], upgraded: [], removed: [] });
      expect(codex.removeHooks(once)).toMatchObject({ text, deletable: false, warnings: [] });
    }),
    { numRuns: 500 },
  );
});

test("plain JSON stays plain JSON", () => {
  fc.assert(
    fc.property(aSettingsText({ plain: true }), (text) => {
      JSON.parse(installHooks(text, wanted).text);
    }),
    { numRuns: 300 },
  );
});

test("after another program has written the file in its own way, only ours goes", () => {
  fc.assert(
    fc.property(aSettingsText(), fc.constantFrom(undefined, 2, "\t"), (text, indent) => {
      const rewritten = JSON.stringify(read(installHooks(text, wanted).text), null, indent);
      const rest = read(removeHooks(rewritten).text);
      const before = read(text);
      expect(withoutEmptyHooks(rest)).toEqual(withoutEmptyHooks(before));
    }),
    { numRuns: 300 },
  );
});

test("entries of others that come between are kept, whatever is before and behind them", () => {
  fc.assert(
    fc.property(aSettingsText(), fc.constantFrom(...events), fc.boolean(), (text, event, first) => {
      const installed = read(installHooks(text, wanted).text);
      const foreign = { hooks: [{ type: "command", command: "echo" }] };
      const groups = installed.hooks[event];
      installed.hooks[event] = first ? [foreign, ...groups] : [...groups, foreign];
      const rest = read(removeHooks(JSON.stringify(installed, null, 2)).text);
      const before = read(text);
      const kept = before.hooks?.[event] ?? [];
      const hooks = { ...before.hooks, [event]: first ? [foreign, ...kept] : [...kept, foreign] };
      expect(withoutEmptyHooks(rest)).toEqual(withoutEmptyHooks({ ...before, hooks }));
    }),
    { numRuns: 300 },
  );
});

/** Empty containers mean the same as none; a formatter takes away the sign of whose they are. */
function withoutEmptyHooks({ hooks = {}, ...others }: Record<string, object>) {
  const filled = Object.entries(hooks).filter(([name, groups]) => {
    return !(events.includes(name) && Array.isArray(groups) && groups.length === 0);
  });
  return { ...others, ...(filled.length > 0 ? { hooks: Object.fromEntries(filled) } : {}) };
}

/**
 * Generates settings texts as people and programs write them: comments and trailing commas anywhere,
 * any white space and line ends, a byte order mark, hooks of others in every shape and place.
 */
const aSettingsText = ({ plain = false } = {}): fc.Arbitrary<string> =>
  fc.gen().map((g) => {
    const lineEnd = g(fc.constantFrom, "\n", "\r\n", "\r", "mixed");
    const oneIn = (n: number) => g(fc.nat, { max: n - 1 }) === 0;
    const newLine = () => (lineEnd === "mixed" ? g(fc.constantFrom, "\n", "\r\n") : lineEnd);
    const withComments = !plain && g(fc.boolean);
    const compact = oneIn(4);

    const piece = () => {
      const kind = g(fc.nat, { max: withComments ? 6 : 4 });
      if (kind <= 1) return " ";
      if (kind === 2) return "\t";
      if (kind <= 4) return `${newLine()}${"  ".repeat(g(fc.nat, { max: 3 }))}`;
      const words = g(fc.constantFrom, "", " keep ", ' "hooks": [ ', " { ", ", ", " é ");
      return kind === 5 ? `/*${words}*/` : `//${words}${newLine()}`;
    };
    const gap = () => {
      if (compact && !oneIn(8)) return "";
      return Array.from({ length: g(fc.nat, { max: 3 }) }, piece).join("");
    };
    const list = (open: string, close: string, items: readonly string[]) => {
      const comma = !plain && items.length > 0 && oneIn(4) ? `,${gap()}` : "";
      return `${open}${gap()}${items.join(`${gap()},${gap()}`)}${gap()}${comma}${close}`;
    };
    const object = (entries: readonly (readonly [string, string])[]) =>
      list(
        "{",
        "}",
        entries.map(([key, value]) => `${JSON.stringify(key)}${gap()}:${gap()}${value}`),
      );
    const array = (items: readonly string[]) => list("[", "]", items);
    const times = <T>(max: number, make: () => T) =>
      Array.from({ length: g(fc.nat, { max }) }, make);

    const scalar = () =>
      g(fc.constantFrom, "true", "null", "-1.5e3", '"a && b > c"', '"\\u00e9\\"/*"', '"//"', '""');
    const value = (depth: number): string => {
      const kind = g(fc.nat, { max: depth > 0 ? 3 : 1 });
      if (kind <= 1) return scalar();
      if (kind === 2) return array(times(3, () => value(depth - 1)));
      return object(times(3, () => [g(fc.constantFrom, "a", "b", "é"), value(depth - 1)]));
    };

    const command = () =>
      g(fc.constantFrom, "echo hi", "x && omni-dev sessions hook", "/opt/tracker/hook", "a \\ 'b'");
    const hook = () =>
      object([
        ["type", '"command"'],
        ["command", JSON.stringify(command())],
        ...(oneIn(3) ? [["timeout", "60"] as const] : []),
      ]);
    const group = () => {
      if (oneIn(8)) return value(1);
      const hooks = ["hooks", array(times(2, hook))] as const;
      return object(oneIn(2) ? [["matcher", '"compact"'], hooks] : [hooks]);
    };
    const names = g(fc.subarray, [...events, "FileChanged", "NoSuchEvent"]);
    const hooks = () => object(names.map((name) => [name, array(times(2, group))] as const));

    const others = g(fc.subarray, ["model", "permissions", "env", "hook", "é"]);
    const entries = others.map((key) => [key, value(2)] as const);
    const all = oneIn(3) ? entries : [...entries, ["hooks", hooks()] as const];
    const root = object(oneIn(2) ? all : all.toReversed());
    return `${!plain && oneIn(5) ? "\uFEFF" : ""}${gap()}${root}${gap()}`;
  });

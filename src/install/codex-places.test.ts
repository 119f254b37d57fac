import fc from "fast-check";
import { parseTree } from "jsonc-parser";
import { expect, test } from "vitest";
import { installHooks, removeHooks } from "./codex-hooks.ts";
import type { HookChanges } from "./hook-entries.ts";
import { elementsOf, endOf, propertiesOf, valueAt } from "./jsonc-text.ts";
import { agentHookCommand, ownCommand } from "./own-command.ts";

// Codex trusts a hook by where it stands. So whatever others have done to the file, and however often
// ours came and went: across each of our own steps everything of others stands where it stood.

type Hook = { type: string; command: string };
type Group = { hooks: Hook[] } & Record<string, unknown>;
type File = { hooks?: Record<string, Group[]> } & Record<string, unknown>;

const command = agentHookCommand("/d/omni-dev/hook", "codex");
const direct = { type: "command", command: "/a/bin/omni-dev sessions hook" };
const current = { type: "command", command };
const isOurs = (hook: Hook) => ownCommand(hook.command) !== undefined;
const isInert = (group: Group | undefined) => JSON.stringify(group) === '{"hooks":[]}';

const events = fc.constantFrom("Stop", "PreToolUse", "NoEventOfOurs");
const place = fc.nat({ max: 5 });
const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.constant({ does: "install" } as const) },
    { weight: 3, arbitrary: fc.constant({ does: "uninstall" } as const) },
    {
      weight: 6,
      arbitrary: fc.record({
        does: fc.constantFrom("add a group", "add a hook", "drop a group", "drop a hook"),
        event: events,
        at: place,
        of: place,
        hook: fc.constantFrom("theirs", "theirs", "theirs", "direct", "current"),
        group: fc.constantFrom({}, {}, { matcher: "Bash" }, { matcher: "*" }, { note: 1 }),
        indent: fc.constantFrom(undefined, 1, "\t"),
      }),
    },
  ),
  { maxLength: 30 },
);
type Step = typeof steps extends fc.Arbitrary<(infer S)[]> ? S : never;

test("across every install and uninstall, everything of others keeps its place and its bytes", () => {
  fc.assert(
    fc.property(steps, (all) => {
      let text: string | undefined;
      let count = 0;
      for (const step of all) {
        if (step.does === "install") text = checkedInstall(text);
        else if (step.does === "uninstall") text = text && checkedUninstall(text);
        else text = edited(text, step, `theirs ${count++}`);
      }
      if (text !== undefined) checkedUninstall(text);
    }),
    { numRuns: 1000 },
  );
});

function checkedInstall(before: string | undefined): string {
  const changes = installHooks(before, command);
  expectOthersKept(before ?? "{}", changes);
  const hooks = hooksIn(changes.text);
  for (const event of ["Stop", "PreToolUse"]) {
    const all = hooks[event]?.flatMap((group) => group.hooks) ?? [];
    expect(all.filter(isOurs)).toMatchObject([current]);
  }
  expect(installHooks(changes.text, command)).toMatchObject({
    text: changes.text,
    added: [],
    upgraded: [],
    removed: [],
    warnings: [],
  });
  return changes.text;
}

function checkedUninstall(before: string): string | undefined {
  const changes = removeHooks(before);
  expectOthersKept(before, changes);
  for (const [event, groups] of Object.entries(hooksIn(changes.text))) {
    expect(groups.flatMap((group) => group.hooks).filter(isOurs)).toEqual([]);
    if (changes.removed.includes(event)) expect(isInert(groups.at(-1))).toBe(false);
  }
  expect(removeHooks(changes.text)).toMatchObject({
    text: changes.text,
    removed: [],
    warnings: [],
  });
  return changes.deletable ? undefined : changes.text;
}

/** What is not ours is what it was and where it was, or the one move that cannot be helped is told. */
function expectOthersKept(before: string, { text, warnings }: HookChanges) {
  const were = othersIn(before);
  const are = othersIn(text);
  expect([...are.values()].map(({ bytes }) => bytes)).toEqual(
    [...were.values()].map(({ bytes }) => bytes),
  );
  const moved = [...were].filter(([id, { at }]) => are.get(id)?.at !== at);
  const told = warnings.map((warning) => /^(\w+), group (\d+) /.exec(warning)?.slice(1, 3).join());
  for (const [, { group }] of moved) expect(told).toContain(group);
  const couldMove = [...were.values()].map(({ group }) => group);
  if (moved.length === 0)
    expect(told.filter((group) => couldMove.includes(group ?? ""))).toEqual([]);
}

/** Each hook of others by its text, with where it stands; and what groups say beside hooks. */
function othersIn(text: string) {
  const hooks = valueAt(parseTree(text), "hooks");
  const found = propertiesOf(hooks).flatMap(([event, groups]) =>
    elementsOf(groups).flatMap((group, g) => {
      const list = elementsOf(valueAt(group, "hooks"));
      const note = valueAt(group, "note");
      const pieces = [...list, ...(note ? [note] : [])].map((node, h) => ({
        at: `${event}:${g}:${node === note ? "note" : h}`,
        group: `${event},${g}`,
        bytes: text.slice(node.offset, endOf(node)),
      }));
      return pieces.filter(({ bytes }) => !bytes.includes("omni-dev"));
    }),
  );
  return new Map(found.map((piece, i) => [`${i} ${piece.bytes}`, piece]));
}

/** The file as somebody else's program leaves it. */
function edited(
  text: string | undefined,
  step: Exclude<Step, { does: "install" | "uninstall" }>,
  name: string,
): string {
  const file: File = JSON.parse(text ?? "{}");
  file.hooks ??= {};
  file.hooks[step.event] ??= [];
  const groups = file.hooks[step.event] ?? [];
  const [at, of] = [step.at % (groups.length + 1), step.of % (groups.length || 1)];
  const hook = { theirs: { type: "command", command: name }, direct, current }[step.hook];
  const hooks = groups[of]?.hooks ?? [];
  switch (step.does) {
    case "add a group":
      groups.splice(at, 0, { ...step.group, hooks: [hook] });
      break;
    case "add a hook":
      hooks.splice(at, 0, hook);
      break;
    case "drop a group":
      groups.splice(of, 1);
      break;
    case "drop a hook":
      hooks.splice(at, 1);
      break;
  }
  return JSON.stringify(file, null, step.indent);
}

const hooksIn = (text: string) => (JSON.parse(text) as File).hooks ?? {};

import type { Node } from "jsonc-parser";
import { insertInto, isOursToRemove, newFile, removeFrom } from "./jsonc-edit.ts";
import {
  applyEdits,
  type Edit,
  elementsOf,
  type JsoncText,
  propertiesOf,
  readJsonc,
  Unfit,
  valueAt,
} from "./jsonc-text.ts";
import { ownCommand } from "./own-command.ts";

/** The events that are about one tool call; only these have a matcher of tool names. */
const toolEvents: readonly string[] = [
  "PreToolUse",
  "PostToolUse",
  "PostToolUseFailure",
  "PermissionRequest",
  "PermissionDenied",
];

/**
 * Seconds after which Claude gives up a hook. The launcher bounds itself to one; only what it has
 * no hold over (a stuck disk, a daemon whose backlog is full) gets here, and then a tool call should
 * not stand still for long.
 */
export const HOOK_TIMEOUT_S = 3;

/** What was done to one settings text; events by name. */
export type HookChanges = {
  text: string;
  added: string[];
  /** Entries of ours that now run another command, or every tool's calls. */
  upgraded: string[];
  removed: string[];
  /** What our entries ran before, if it was something else. */
  formerPrograms: string[];
  warnings: string[];
};

/** Which entries a settings file is to have. */
export type WantedHooks = {
  command: string;
  events: readonly string[];
  /** Events that a Claude here does not know; an entry of ours for one is removed. */
  unknown: readonly string[];
};

type Entry = { event: string; group: Node; hook: Node; command: Node };

/**
 * Puts our entries into the text of a settings file, and brings older ones up to date in place.
 * Doing it again changes nothing, and `removeHooks` gives back the same bytes.
 *
 * @param text  undefined when there is no file.
 * @throws Unfit when the text cannot be edited.
 */
export function installHooks(text: string | undefined, wanted: WantedHooks): HookChanges {
  const missing = (events: readonly string[]) =>
    wanted.events.filter((event) => !events.includes(event));
  if (text === undefined) {
    const hooks = Object.fromEntries(wanted.events.map((it) => [it, [groupFor(it, wanted)]]));
    const none = { upgraded: [], removed: [], formerPrograms: [], warnings: [] };
    return { ...none, text: newFile({ hooks }), added: [...wanted.events] };
  }
  const before = readJsonc(text);
  const entries = entriesIn(before);
  const keep = new Set<Entry>();
  for (const event of new Set(entries.map((entry) => entry.event))) {
    if (wanted.unknown.includes(event)) continue;
    const widest = entries.find((entry) => entry.event === event && isForAll(entry.group));
    if (widest) keep.add(widest);
  }
  const others = entries.filter((entry) => !keep.has(entry));
  const old = [...keep].filter(({ command }) => command.value !== wanted.command);
  const settled = applyEdits(text, [
    ...old.map(({ command }) => replace(command, wanted.command)),
    ...editsToRemove(before, others),
  ]);
  const present = [...keep].map(({ event }) => event);
  const gone = others.map(({ event }) => event);
  const replaced = gone.filter((event) => wanted.events.includes(event));
  const doc = readJsonc(settled);
  return {
    text: applyEdits(settled, insertGroups(doc, missing(present), wanted)),
    added: missing([...present, ...replaced]),
    upgraded: unique([...old.map(({ event }) => event), ...replaced]),
    removed: unique(gone.filter((event) => ![...present, ...replaced].includes(event))),
    formerPrograms: programsOf([...old, ...others]),
    warnings: warningsFor(doc),
  };
}

/**
 * Takes our entries, and what we made to hold them, out of the text of a settings file.
 * `deletable`: we have made the file, and nothing else is in it now.
 *
 * @throws Unfit when the text cannot be edited.
 */
export function removeHooks(text: string): HookChanges & { deletable: boolean } {
  const doc = readJsonc(text);
  const entries = entriesIn(doc);
  const rest = applyEdits(text, editsToRemove(doc, entries));
  const deletable = isOursToRemove(doc, doc.root) && /^\{[ \t\r\n]*\}[ \t\r\n]*$/.test(rest);
  return {
    text: rest,
    deletable,
    added: [],
    upgraded: [],
    removed: unique(entries.map(({ event }) => event)),
    formerPrograms: programsOf(entries),
    warnings: [],
  };
}

/** The entries as text, for people who put them in themselves. */
export const hooksToPaste = (wanted: WantedHooks): string =>
  newFile({
    hooks: Object.fromEntries(wanted.events.map((it) => [it, [groupFor(it, wanted)]])),
  });

function groupFor(event: string, { command }: WantedHooks): object {
  const matcher = toolEvents.includes(event) ? { matcher: "*" } : {};
  return { ...matcher, hooks: [{ type: "command", command, timeout: HOOK_TIMEOUT_S }] };
}

function insertGroups(doc: JsoncText, events: readonly string[], wanted: WantedHooks): Edit[] {
  if (events.length === 0) return [];
  const hooks = valueAt(doc.root, "hooks");
  const fresh = (event: string) => ({ key: event, value: [groupFor(event, wanted)] });
  if (!hooks) {
    const value = Object.fromEntries(events.map((it) => [it, [groupFor(it, wanted)]]));
    return insertInto(doc, doc.root, [{ key: "hooks", value }]);
  }
  const isThere = (event: string) => valueAt(hooks, event) !== undefined;
  const newEvents = events.filter((event) => !isThere(event)).map(fresh);
  return [
    ...events.filter(isThere).flatMap((event) => {
      const groups = valueAt(hooks, event);
      if (groups?.type !== "array") throw new Unfit(`has hooks for ${event} that are no array`);
      return insertInto(doc, groups, [{ value: groupFor(event, wanted) }]);
    }),
    ...(newEvents.length > 0 ? insertInto(doc, hooks, newEvents) : []),
  ];
}

/** Finds every hook entry of ours, in the order of the text. */
function entriesIn({ root }: JsoncText): Entry[] {
  const hooks = valueAt(root, "hooks");
  if (hooks && hooks.type !== "object") throw new Unfit(`has "hooks" that are no object`);
  return propertiesOf(hooks).flatMap(([event]) => {
    return elementsOf(valueAt(hooks, event)).flatMap((group) =>
      elementsOf(valueAt(group, "hooks")).flatMap((hook) => {
        const command = valueAt(hook, "command");
        const isOurs =
          valueAt(hook, "type")?.value === "command" &&
          command?.type === "string" &&
          ownCommand(command.value) !== undefined;
        return isOurs ? [{ event, group, hook, command }] : [];
      }),
    );
  });
}

/** Removes entries, and each container that holds nothing else, up to `hooks` itself. */
function editsToRemove(doc: JsoncText, entries: readonly Entry[]): Edit[] {
  const hooks = valueAt(doc.root, "hooks");
  if (!hooks || entries.length === 0) return [];
  const edits: Edit[] = [];
  const goneEvents = new Set<Node>();
  for (const property of hooks.children ?? []) {
    const [, groups] = property.children ?? [];
    const goneGroups = new Set<Node>();
    for (const group of elementsOf(groups)) {
      const gone = new Set(entries.filter((it) => it.group === group).map(({ hook }) => hook));
      const all = valueAt(group, "hooks");
      if (!all || gone.size === 0) continue;
      if (gone.size === all.children?.length) goneGroups.add(group);
      else edits.push(...removeFrom(doc, all, gone));
    }
    if (!groups || goneGroups.size === 0) continue;
    if (goneGroups.size === groups.children?.length && isOursToRemove(doc, groups))
      goneEvents.add(property);
    else edits.push(...removeFrom(doc, groups, goneGroups));
  }
  if (goneEvents.size === 0) return edits;
  const holder = doc.root.children?.find((property) => property.children?.[1] === hooks);
  if (holder && goneEvents.size === hooks.children?.length && isOursToRemove(doc, hooks))
    return removeFrom(doc, doc.root, new Set([holder]));
  return [...edits, ...removeFrom(doc, hooks, goneEvents)];
}

/** Whether a group is for every call of its event. */
function isForAll(group: Node): boolean {
  const matcher = valueAt(group, "matcher");
  return !matcher || matcher.value === "*" || matcher.value === "";
}

function warningsFor({ root }: JsoncText): string[] {
  const isOff = valueAt(root, "disableAllHooks")?.value === true;
  return isOff ? ['"disableAllHooks" is true in this file: Claude runs no hook at all.'] : [];
}

const replace = (node: Node, value: string): Edit => ({
  from: node.offset,
  to: node.offset + node.length,
  text: JSON.stringify(value),
});

const programsOf = (entries: readonly Entry[]) =>
  unique(entries.flatMap(({ command }) => ownCommand(command.value)?.program ?? []));

const unique = (names: readonly string[]) => [...new Set(names)];

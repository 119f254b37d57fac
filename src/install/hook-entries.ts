import type { Node } from "jsonc-parser";
import { insertInto, isOursToRemove, newFile, removeFrom } from "./jsonc-edit.ts";
import {
  applyEdits,
  type Edit,
  elementsOf,
  endOf,
  type JsoncText,
  propertiesOf,
  readJsonc,
  Unfit,
  valueAt,
} from "./jsonc-text.ts";
import { ownCommand } from "./own-command.ts";

// Files of the shape { "hooks": { EVENT: [ { "matcher"?, "hooks": [ HOOK… ] }… ] } }, which several
// agents have in common. What is theirs alone comes in as `HookStyle`.

/** How one agent's file is treated. */
export type HookStyle = {
  /** The group that is added for an event. */
  groupFor: (event: string, command: string) => object;
  /**
   * Whether the agent knows a hook by its place, `<event>:<group>:<hook>`, and trusts it there. Then
   * no hook of others gets another place: groups are added at an event's end only, and one that is
   * emptied before others leaves an inert `{ "hooks": [] }` behind.
   */
  keepsPlaces: boolean;
};

/** Which entries a file is to have. */
export type WantedEntries = {
  command: string;
  events: readonly string[];
  /** Tells of an event that is not in `events` whether an entry of ours for it is to go. */
  isUnwanted: (event: string) => boolean;
};

/** What was done to one text; events by name. */
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

/** Where an entry stands; groups and hooks are counted from 0. */
export type Place = { event: string; group: number; hook: number };

type Entry = { place: Place; group: Node; hook: Node; command: Node };

/**
 * Puts our entries into a text, and brings older ones up to date in place. Doing it again changes
 * nothing, and `removeEntries` gives back the same bytes where no placeholder has to stay.
 *
 * @param text  undefined when there is no file.
 * @throws Unfit when the text cannot be edited.
 */
export function installEntries(
  text: string | undefined,
  wanted: WantedEntries,
  style: HookStyle,
): HookChanges {
  if (text === undefined) {
    const none = { upgraded: [], removed: [], formerPrograms: [], warnings: [] };
    return { ...none, text: entriesToPaste(wanted, style), added: [...wanted.events] };
  }
  const missing = (events: readonly string[]) =>
    wanted.events.filter((event) => !events.includes(event));
  const before = readJsonc(text);
  const entries = entriesIn(before);
  const isCurrent = ({ command }: Entry) => command.value === wanted.command;
  const keep = new Set<Entry>();
  for (const event of new Set(entries.map(({ place }) => place.event))) {
    if (!wanted.events.includes(event) && wanted.isUnwanted(event)) continue;
    const forAll = entries.filter((it) => it.place.event === event && isForAll(it.group));
    // One that is trusted as it is need not be trusted again.
    const kept = (style.keepsPlaces ? forAll.find(isCurrent) : undefined) ?? forAll[0];
    if (kept) keep.add(kept);
  }
  const others = entries.filter((entry) => !keep.has(entry));
  const old = [...keep].filter((entry) => !isCurrent(entry));
  const removal = removalOf(before, others, style);
  const settled = applyEdits(text, [
    ...old.map(({ command }) => replace(command, wanted.command)),
    ...removal.edits,
  ]);
  const present = eventsOf([...keep]);
  const gone = eventsOf(others);
  const replaced = gone.filter((event) => wanted.events.includes(event));
  const doc = readJsonc(settled);
  return {
    text: applyEdits(settled, insertGroups(doc, missing(present), wanted, style)),
    added: missing([...present, ...replaced]),
    upgraded: unique([...eventsOf(old), ...replaced]),
    removed: gone.filter((event) => ![...present, ...replaced].includes(event)),
    formerPrograms: programsOf([...old, ...others]),
    warnings: removal.warnings,
  };
}

/**
 * Takes our entries, and what we made to hold them, out of a text.
 * `deletable`: we have made the file, and nothing else is in it now.
 *
 * @throws Unfit when the text cannot be edited.
 */
export function removeEntries(
  text: string,
  style: Pick<HookStyle, "keepsPlaces">,
): HookChanges & { deletable: boolean } {
  const doc = readJsonc(text);
  const entries = entriesIn(doc);
  const { edits, warnings } = removalOf(doc, entries, style);
  const rest = applyEdits(text, edits);
  const deletable = isOursToRemove(doc, doc.root) && /^\{[ \t\r\n]*\}[ \t\r\n]*$/.test(rest);
  return {
    text: rest,
    deletable,
    added: [],
    upgraded: [],
    removed: eventsOf(entries),
    formerPrograms: programsOf(entries),
    warnings,
  };
}

/** The entries as text, for a new file, or for people who put them in themselves. */
export const entriesToPaste = (wanted: WantedEntries, style: HookStyle): string =>
  newFile({ hooks: newEvents(wanted.events, wanted, style) });

/**
 * Tells where our entries stand.
 *
 * @throws Unfit when the text cannot be read.
 */
export const placesIn = (text: string): Place[] =>
  entriesIn(readJsonc(text)).map(({ place }) => place);

const newEvents = (events: readonly string[], { command }: WantedEntries, style: HookStyle) =>
  Object.fromEntries(events.map((event) => [event, [style.groupFor(event, command)]]));

function insertGroups(
  doc: JsoncText,
  events: readonly string[],
  wanted: WantedEntries,
  style: HookStyle,
): Edit[] {
  if (events.length === 0) return [];
  const hooks = valueAt(doc.root, "hooks");
  if (!hooks) {
    return insertInto(doc, doc.root, [{ key: "hooks", value: newEvents(events, wanted, style) }]);
  }
  const isThere = (event: string) => valueAt(hooks, event) !== undefined;
  const absent = newEvents(
    events.filter((event) => !isThere(event)),
    wanted,
    style,
  );
  const fresh = Object.entries(absent).map(([key, value]) => ({ key, value }));
  return [
    ...events.filter(isThere).flatMap((event) => {
      const groups = valueAt(hooks, event);
      if (groups?.type !== "array") throw new Unfit(`has hooks for ${event} that are no array`);
      return insertInto(doc, groups, [{ value: style.groupFor(event, wanted.command) }]);
    }),
    ...(fresh.length > 0 ? insertInto(doc, hooks, fresh) : []),
  ];
}

/** Finds every hook entry of ours, in the order of the text. */
function entriesIn({ root }: JsoncText): Entry[] {
  const hooks = valueAt(root, "hooks");
  if (hooks && hooks.type !== "object") throw new Unfit(`has "hooks" that are no object`);
  return propertiesOf(hooks).flatMap(([event]) => {
    return elementsOf(valueAt(hooks, event)).flatMap((group, groupAt) =>
      elementsOf(valueAt(group, "hooks")).flatMap((hook, hookAt) => {
        const command = ownCommandOf(hook);
        const place = { event, group: groupAt, hook: hookAt };
        return command ? [{ place, group, hook, command }] : [];
      }),
    );
  });
}

/** The command of a hook, if it is ours. */
function ownCommandOf(hook: Node): Node | undefined {
  const command = valueAt(hook, "command");
  const isCommand = valueAt(hook, "type")?.value === "command" && command?.type === "string";
  return isCommand && ownCommand(command.value) ? command : undefined;
}

type Removal = { edits: Edit[]; warnings: string[] };

/** Stands where a group of ours was, so that those behind it keep their places. */
const PLACEHOLDER = '{ "hooks": [] }';

/** Removes entries, and each container that holds nothing else, up to `hooks` itself. */
function removalOf(
  doc: JsoncText,
  entries: readonly Entry[],
  { keepsPlaces }: Pick<HookStyle, "keepsPlaces">,
): Removal {
  const hooks = valueAt(doc.root, "hooks");
  if (!hooks || entries.length === 0) return { edits: [], warnings: [] };
  const edits: Edit[] = [];
  const moved: Place[] = [];
  const goneEvents = new Set<Node>();
  for (const property of hooks.children ?? []) {
    const [, groups] = property.children ?? [];
    const emptied = new Set<Node>();
    for (const group of elementsOf(groups)) {
      const here = entries.filter((it) => it.group === group);
      const gone = new Set(here.map(({ hook }) => hook));
      const all = valueAt(group, "hooks");
      const [first] = here;
      if (!all || !first) continue;
      if (gone.size === all.children?.length && isBare(group)) {
        emptied.add(group);
        continue;
      }
      edits.push(...removeFrom(doc, all, gone));
      if (all.children?.slice(first.place.hook).some((it) => !ownCommandOf(it)))
        moved.push(first.place);
    }
    const isTouched = entries.some((it) => groups?.children?.includes(it.group));
    if (!groups || !isTouched) continue;
    const goneGroups = keepsPlaces ? inertEndOf(doc, groups, emptied) : emptied;
    for (const group of emptied) {
      if (goneGroups.has(group)) continue;
      edits.push({ from: group.offset, to: endOf(group), text: PLACEHOLDER });
    }
    if (goneGroups.size === groups.children?.length && isOursToRemove(doc, groups))
      goneEvents.add(property);
    else edits.push(...removeFrom(doc, groups, goneGroups));
  }
  const warnings = keepsPlaces ? moved.map(movedWarning) : [];
  if (goneEvents.size === 0) return { edits, warnings };
  const holder = doc.root.children?.find((property) => property.children?.[1] === hooks);
  if (holder && goneEvents.size === hooks.children?.length && isOursToRemove(doc, hooks))
    return { edits: removeFrom(doc, doc.root, new Set([holder])), warnings };
  return { edits: [...edits, ...removeFrom(doc, hooks, goneEvents)], warnings };
}

/** The groups at an event's end that hold no hook once these are emptied: nothing is behind them. */
function inertEndOf(doc: JsoncText, groups: Node, emptied: ReadonlySet<Node>): Set<Node> {
  const all = groups.children ?? [];
  const last = all.findLastIndex((group) => !emptied.has(group) && !isPlaceholder(doc, group));
  return new Set(all.slice(last + 1));
}

/** A group with any other key, a matcher even, or with a comment has somebody else's hand in it. */
const isPlaceholder = ({ text }: JsoncText, group: Node) =>
  text.slice(group.offset, endOf(group)).replace(/\s+/g, "") === PLACEHOLDER.replace(/ /g, "");

/** Whether a group says nothing beside its hooks and what they are for. */
const isBare = (group: Node) =>
  propertiesOf(group).every(([key]) => key === "hooks" || key === "matcher");

const movedWarning = ({ event, group }: Place) =>
  `${event}, group ${group} (counted from 0): the hooks behind ours have moved up one place there. Trust them again.`;

/** Whether a group is for every call of its event. */
const isForAll = (group: Node) =>
  [undefined, null, "*", ""].includes(valueAt(group, "matcher")?.value);

const replace = (node: Node, value: string): Edit => ({
  from: node.offset,
  to: endOf(node),
  text: JSON.stringify(value),
});

const programsOf = (entries: readonly Entry[]) =>
  unique(entries.flatMap(({ command }) => ownCommand(command.value)?.program ?? []));

const eventsOf = (entries: readonly Entry[]) => unique(entries.map(({ place }) => place.event));

const unique = (names: readonly string[]) => [...new Set(names)];

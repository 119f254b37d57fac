import {
  entriesToPaste,
  type HookChanges,
  type HookStyle,
  installEntries,
  removeEntries,
} from "./hook-entries.ts";
import { readJsonc, valueAt } from "./jsonc-text.ts";

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
const HOOK_TIMEOUT_S = 3;

/** Which entries a settings file is to have. */
export type WantedHooks = {
  command: string;
  events: readonly string[];
  /** Events that a Claude here does not know; an entry of ours for one is removed. */
  unknown: readonly string[];
};

const style: HookStyle = {
  groupFor: (event, command) => ({
    ...(toolEvents.includes(event) ? { matcher: "*" } : {}),
    hooks: [{ type: "command", command, timeout: HOOK_TIMEOUT_S }],
  }),
  keepsPlaces: false,
};

const entriesOf = ({ unknown, ...wanted }: WantedHooks) => ({
  ...wanted,
  isUnwanted: (event: string) => unknown.includes(event),
});

/** Puts our entries into the text of a settings file of Claude Code; see `installEntries`. */
export function installHooks(text: string | undefined, wanted: WantedHooks): HookChanges {
  const changes = installEntries(text, entriesOf(wanted), style);
  return { ...changes, warnings: [...changes.warnings, ...warningsFor(changes.text)] };
}

/** Takes our entries out of the text of a settings file; see `removeEntries`. */
export const removeHooks = (text: string) => removeEntries(text, style);

/** The entries as text, for people who put them in themselves. */
export const hooksToPaste = (wanted: WantedHooks): string =>
  entriesToPaste(entriesOf(wanted), style);

function warningsFor(text: string): string[] {
  const isOff = valueAt(readJsonc(text).root, "disableAllHooks")?.value === true;
  return isOff ? ['"disableAllHooks" is true in this file: Claude runs no hook at all.'] : [];
}

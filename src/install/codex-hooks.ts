import {
  entriesToPaste,
  type HookChanges,
  type HookStyle,
  installEntries,
  type Place,
  placesIn,
  removeEntries,
} from "./hook-entries.ts";

/** What Codex gives a hook of its last moments at most; unless told, it gives it one second. */
const LAST_MOMENTS_S = 3;

/**
 * The events to ask for. Without a matcher a hook is for every call of its event.
 *
 * A name that an older Codex does not know is passed over by it. The launcher bounds itself, so the
 * others have no timeout of their own: what is written here is what people trust, and any change of
 * it makes them do so again.
 * Source: Codex 0.171.0, asked for its list of hooks.
 */
const events: Readonly<Record<string, { matcher?: string; timeout?: number }>> = {
  SessionStart: {},
  UserPromptSubmit: {},
  PreToolUse: { matcher: "*" },
  PostToolUse: { matcher: "*" },
  PermissionRequest: {},
  Stop: {},
  Interrupt: { timeout: LAST_MOMENTS_S },
  SubagentStart: {},
  SubagentStop: {},
  PreCompact: {},
  PostCompact: {},
  SessionEnd: { timeout: LAST_MOMENTS_S },
};

const style: HookStyle = {
  groupFor(event, command) {
    const { timeout, ...matcher } = events[event] ?? {};
    const limit = timeout === undefined ? {} : { timeout };
    return { ...matcher, hooks: [{ type: "command", command, ...limit }] };
  },
  keepsPlaces: true,
};

const wanted = (command: string) => ({
  command,
  events: Object.keys(events),
  isUnwanted: () => true,
});

/** Puts our entries into the text of Codex's `hooks.json`; see `installEntries`. */
export function installHooks(text: string | undefined, command: string): HookChanges {
  const changes = installEntries(text, wanted(command), style);
  return { ...changes, warnings: [...changes.warnings, ...warningsFor(changes.text)] };
}

/** Takes our entries out of the text of `hooks.json`; see `removeEntries`. */
export const removeHooks = (text: string) => removeEntries(text, style);

/** The entries as text, for people who put them in themselves. */
export const hooksToPaste = (command: string): string => entriesToPaste(wanted(command), style);

/**
 * Tells which of our entries Codex has not been told to trust, by their keys in its `config.toml`.
 * What it was told to trust there, this text or an earlier one, is not looked at.
 *
 * @param files  The paths that Codex may know the file by.
 */
export function untrustedIn(
  text: string,
  { files, config }: { files: readonly string[]; config: string },
): { untrusted: Place[]; all: Place[] } {
  const all = placesIn(text);
  const isTrusted = (place: Place) =>
    files.some((file) => {
      const key = trustKey(file, place);
      return config.includes(JSON.stringify(key)) || config.includes(`'${key}'`);
    });
  return { untrusted: all.filter((place) => !isTrusted(place)), all };
}

const trustKey = (file: string, { event, group, hook }: Place) =>
  [file, event.replace(/\B[A-Z]/g, "_$&").toLowerCase(), group, hook].join(":");

function warningsFor(text: string): string[] {
  try {
    JSON.parse(text);
    return [];
  } catch {
    // We can edit such a file, and must not make it worse by tidying up.
    return [
      "Codex takes plain JSON only: a comment, a comma too many or a byte order mark in its hooks.json keeps it from running any hook.",
    ];
  }
}

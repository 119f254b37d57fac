import type { Sender } from "../hook/launcher.ts";
import { type Clock, systemClock } from "../platform/clock.ts";
import type { Host } from "../platform/paths.ts";
import { installForClaude, uninstallForClaude } from "./claude.ts";
import { eventsKnownTo, findClaudes } from "./claude-versions.ts";
import { installForCodex, uninstallForCodex } from "./codex.ts";
import { installForPi, uninstallForPi } from "./pi.ts";
import { launcherPath, placeLauncher } from "./place-launcher.ts";
import { findSender, sendersOf } from "./probe.ts";
import { type HooksReport, isRefused, reportOf } from "./report.ts";

/** Where things are, for both directions. */
export type HooksOptions = {
  host: Host;
  /** The file to change instead of Claude's own. */
  settingsPath?: string | undefined;
  /** Codex's home; named, it counts as being there. */
  codexHome?: string | undefined;
  /** pi's agent directory; named, it counts as being there. */
  piAgentDir?: string | undefined;
  /** Changes nothing and tells what would be. */
  dryRun?: boolean | undefined;
  clock?: Clock | undefined;
};

/**
 * Installs the hooks: the launcher, and entries that name it in the files of each agent. Doing it
 * again changes nothing. What is in people's files is never a reason to throw: a file that cannot be
 * edited is reported as refused.
 *
 * @param socketPath  The daemon's socket, written into the launcher.
 * @param node  Node and the file of the sink, for machines where nothing smaller can send.
 * @param piExtension  The text of the extension for pi.
 * @param senders  What to try, best first.
 */
export async function installHooks({
  host,
  socketPath,
  node,
  senders = sendersOf(host, node),
  piExtension,
  settingsPath,
  codexHome,
  piAgentDir,
  dryRun = false,
  clock = systemClock,
}: HooksOptions & {
  socketPath: string;
  piExtension: string;
  node: { path: string; sink: string };
  senders?: readonly Sender[];
}): Promise<HooksReport> {
  const [probe, claudes] = await Promise.all([findSender(senders, host), findClaudes(host)]);
  const known = eventsKnownTo(claudes);
  const placed = placeLauncher({ launcher: launcherPath(host), probe, socketPath, dryRun });
  const options = { host, dryRun, clock };
  // Without a launcher, entries that name it would be nothing but a cost.
  const hooked = placed.files.some(isRefused)
    ? []
    : [
        await installForClaude({ ...options, settingsPath, claudes, known }),
        await installForCodex({ ...options, codexHome }),
      ];
  const pi = installForPi({ ...options, piAgentDir, source: piExtension, socketPath });
  return reportOf([placed, ...hooked, pi], { dryRun, claudes, events: known.events });
}

/**
 * Takes the hooks out of all agents' files. The launcher stays: other settings files, and sessions
 * that run, may still name it, and without a daemon it does nothing.
 */
export async function uninstallHooks({
  host,
  settingsPath,
  codexHome,
  piAgentDir,
  dryRun = false,
  clock = systemClock,
}: HooksOptions): Promise<HooksReport> {
  const options = { host, dryRun, clock };
  const agents = [
    await uninstallForClaude({ ...options, settingsPath }),
    await uninstallForCodex({ ...options, codexHome }),
    uninstallForPi({ ...options, piAgentDir }),
  ];
  return reportOf(agents, { dryRun, claudes: [], events: [] });
}

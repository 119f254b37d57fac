import path from "node:path";
import { installHooks as install } from "../../install/install-hooks.ts";
import { printHooksReport } from "../hooks-report.ts";
import { type SocketOption, socketOf } from "../socket.ts";
import type { World } from "../world.ts";

export type HooksCommandOptions = { settings?: string; dryRun?: boolean };

/** Installs our hooks into an agent's settings, and says what it changed. */
export async function installHooks(
  options: HooksCommandOptions & SocketOption,
  world: World,
): Promise<number> {
  const sink = path.join(path.dirname(world.entry), "hook.cjs");
  const report = await install({
    host: world.host,
    socketPath: socketOf(options, world).path,
    node: { path: process.execPath, sink },
    settingsPath: options.settings,
    dryRun: options.dryRun,
    clock: world.clock,
  });
  const status = printHooksReport(report, world);
  if (report.ok && !report.dryRun) {
    world.stdout.write("Sessions report from their next turn on; nothing has to be restarted.\n");
  }
  return status;
}

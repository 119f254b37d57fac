import { readFileSync } from "node:fs";
import path from "node:path";
import { installHooks as install } from "../../install/install-hooks.ts";
import { printHooksReport } from "../hooks-report.ts";
import { type SocketOption, socketOf } from "../socket.ts";
import type { World } from "../world.ts";

export type HooksCommandOptions = {
  settings?: string;
  codexHome?: string;
  piAgentDir?: string;
  dryRun?: boolean;
};

/** Installs our hooks into the agents' files, and says what it changed. */
export async function installHooks(
  options: HooksCommandOptions & SocketOption,
  world: World,
): Promise<number> {
  const beside = (name: string) => path.join(path.dirname(world.entry), name);
  const report = await install({
    host: world.host,
    socketPath: socketOf(options, world).path,
    node: { path: process.execPath, sink: beside("hook.cjs") },
    piExtension: readFileSync(beside("pi-extension.ts"), "utf8"),
    settingsPath: options.settings,
    codexHome: options.codexHome,
    piAgentDir: options.piAgentDir,
    dryRun: options.dryRun,
    clock: world.clock,
  });
  const status = printHooksReport(report, world);
  if (report.ok && !report.dryRun) {
    world.stdout.write(
      "Claude's sessions report from their next turn on; nothing has to be restarted.\n",
    );
  }
  return status;
}

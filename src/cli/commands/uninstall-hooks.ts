import { uninstallHooks as uninstall } from "../../install/install-hooks.ts";
import { printHooksReport } from "../hooks-report.ts";
import type { World } from "../world.ts";
import type { HooksCommandOptions } from "./install-hooks.ts";

/** Takes our hooks out of the agents' files again, and says what it changed. */
export async function uninstallHooks(options: HooksCommandOptions, world: World): Promise<number> {
  const report = await uninstall({
    host: world.host,
    settingsPath: options.settings,
    codexHome: options.codexHome,
    piAgentDir: options.piAgentDir,
    dryRun: options.dryRun,
    clock: world.clock,
  });
  return printHooksReport(report, world);
}

import { uninstallWrapper as uninstall } from "../../install/wrapper.ts";
import { printHooksReport } from "../hooks-report.ts";
import { socketOf } from "../socket.ts";
import type { World } from "../world.ts";
import type { WrapperCommandOptions } from "./install-wrapper.ts";

/** Has editors start Claude directly again, and says what it changed. */
export async function uninstallWrapper(
  options: WrapperCommandOptions,
  world: World,
): Promise<number> {
  const report = await uninstall({
    host: world.host,
    socketPath: socketOf(options, world).path,
    settingsPath: options.settings,
    shim: options.shim,
    dryRun: options.dryRun,
    clock: world.clock,
  });
  const status = printHooksReport(report, world);
  const isCleared = report.files.some((file) => file.removed.length > 0);
  if (isCleared && !report.dryRun) {
    world.stdout.write(
      "Now reload the windows of your editor: Claude's tabs start without it from then on.\n",
    );
  }
  return status;
}

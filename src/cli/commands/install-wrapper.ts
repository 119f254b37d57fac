import path from "node:path";
import { installWrapper as install } from "../../install/wrapper.ts";
import { printHooksReport } from "../hooks-report.ts";
import { type SocketOption, socketOf } from "../socket.ts";
import type { World } from "../world.ts";

export type WrapperCommandOptions = SocketOption & {
  settings?: string;
  shim?: string;
  dryRun?: boolean;
};

/** Has editors start Claude inside the wrapper, and says what it changed. */
export async function installWrapper(
  options: WrapperCommandOptions,
  world: World,
): Promise<number> {
  const report = await install({
    host: world.host,
    socketPath: socketOf(options, world).path,
    execPath: process.execPath,
    wrapper: path.join(path.dirname(world.entry), "claude-wrap.cjs"),
    settingsPath: options.settings,
    shim: options.shim,
    dryRun: options.dryRun,
    clock: world.clock,
  });
  const status = printHooksReport(report, world);
  const isNamed = report.files.some((file) => file.kind === "settings");
  if (report.ok && !report.dryRun && isNamed) {
    world.stdout.write(
      "Now reload the windows of your editor: Claude's tabs are wrapped from their next start on.\n",
    );
  }
  return status;
}

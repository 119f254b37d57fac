import { requestLine } from "../../client/request.ts";
import { visible } from "../../core/present/visible.ts";
import type { DaemonStatus } from "../../core/protocol/ops.ts";
import { version } from "../../core/protocol/version.ts";
import { pad, widthOf } from "../cells.ts";
import { type SocketOption, socketOf } from "../socket.ts";
import type { World } from "../world.ts";

/** Tells how the daemon and its services fare, and whether it is of another version. */
export async function daemonStatus(
  options: SocketOption & { json?: boolean },
  world: World,
): Promise<number> {
  const { path } = socketOf(options, world);
  const text = await requestLine(path, "daemon", "status", null);
  const status: DaemonStatus = JSON.parse(text);
  world.stdout.write(options.json ? `${text}\n` : statusText(status, path));
  if (status.version !== version)
    world.stderr.write(
      `The daemon is version ${visible(status.version)}, this is ${version}. Replace it with: omni-dev daemon restart\n`,
    );
  return 0;
}

function statusText({ services, version: running }: DaemonStatus, path: string): string {
  const rows = services.map(({ name, healthy, summary }) =>
    [name, healthy ? "healthy" : "unhealthy", summary].map(visible),
  );
  const widest = (i: number) => Math.max(0, ...rows.map((row) => widthOf(row[i] ?? "")));
  const lines = rows.map(([name = "", health = "", summary = ""]) =>
    [pad(name, widest(0)), pad(health, widest(1)), summary].join("  ").trimEnd(),
  );
  const head = `daemon ${visible(running)} at ${visible(path)}`;
  return [head, ...lines].map((line) => `${line}\n`).join("");
}

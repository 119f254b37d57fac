import net from "node:net";
import path from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { tempDir, Wire } from "../../test/harness/test-daemon.ts";
import { systemClock } from "../platform/clock.ts";
import { builtinService } from "./builtin.ts";
import { memoryLog } from "./log.ts";
import { routerOf } from "./router.ts";
import { Server } from "./server.ts";

test("a client over the cap is told so, and a place that gets free can be taken", async () => {
  const server = new Server({
    route: routerOf([builtinService({ services: [], stop: () => {} })]),
    clock: systemClock,
    log: memoryLog().log,
    maxConnections: 2,
  });
  const socketPath = path.join(tempDir(), "s");
  const listener = net.createServer({ allowHalfOpen: true }, (socket) => server.accept(socket));
  onTestFinished(() => void listener.close());
  await new Promise<void>((resolve) => listener.listen(socketPath, resolve));

  const clients = [await Wire.open(socketPath), await Wire.open(socketPath)];
  const third = await Wire.open(socketPath);
  expect(await third.rest()).toEqual(['{"ok":false,"error":"too many connections"}']);

  clients[0]?.socket.destroy();
  await vi.waitFor(async () => {
    const again = await Wire.open(socketPath);
    again.send({ op: "ping" });
    expect(await again.json()).toEqual({ ok: true, payload: { pong: true } });
  });
});

import net from "node:net";
import path from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { tempDir, Wire } from "../../test/harness/test-daemon.ts";
import { systemClock } from "../platform/clock.ts";
import { builtinService } from "./builtin.ts";
import { memoryLog } from "./log.ts";
import { routerOf } from "./router.ts";
import { Server, type ServerOptions } from "./server.ts";

async function listenWith(options: Omit<ServerOptions, "clock" | "log">): Promise<string> {
  const server = new Server({ ...options, clock: systemClock, log: memoryLog().log });
  const socketPath = path.join(tempDir(), "s");
  const listener = net.createServer({ allowHalfOpen: true }, (socket) => server.accept(socket));
  onTestFinished(() => void listener.close());
  await new Promise<void>((resolve) => listener.listen(socketPath, resolve));
  return socketPath;
}

test("bodies have a limit together, and room that gets free can be used", async () => {
  const header = `${JSON.stringify({ service: "sessions", op: "end", payload: { session_id: "s" } })}\n`;
  const end = { maxBytes: 1000, run: () => {} };
  const socketPath = await listenWith({
    route: routerOf([{ name: "sessions", handlers: {}, streams: {}, raw: { end } }]),
    maxBodiesBytes: 1500,
  });
  const first = await Wire.open(socketPath);
  first.socket.write(header + "x".repeat(1000));
  const second = await Wire.open(socketPath);
  await vi.waitFor(async () => {
    const other = await Wire.open(socketPath);
    other.socket.end(header + "x".repeat(600));
    expect(await other.rest()).toEqual([
      '{"ok":false,"error":"too many bodies at once, try again"}',
    ]);
  });
  first.socket.end();
  expect(await first.json()).toEqual({ ok: true, payload: { ok: true } });
  second.socket.end(header + "x".repeat(1000));
  expect(await second.json()).toEqual({ ok: true, payload: { ok: true } });
});

test("a client over the cap is told so, and a place that gets free can be taken", async () => {
  const socketPath = await listenWith({
    route: routerOf([builtinService({ services: [], stop: () => {} })]),
    maxConnections: 2,
  });

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

import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { FakeDaemon } from "../../test/harness/fake-daemon.ts";
import { connect } from "./connect.ts";
import { request } from "./request.ts";

test("what nobody asks for is not read, and is still there when it is asked for", async () => {
  const count = 100;
  let sent = 0;
  const feed = (socket: Socket): unknown =>
    sent < count && socket.write(`${String(sent).padEnd(100_000)}\n`, () => ++sent && feed(socket));
  let first = true;
  const daemon = await new FakeDaemon(
    (socket) => socket.write('{"ok":true,"payload":{"pong":true}}\n'),
    (socket) => {
      if (first) feed(socket);
      first = false;
    },
  ).listen();
  const lines = await connect(daemon.socketPath);
  let before = -1;
  while (before !== sent) {
    before = sent;
    for (let i = 0; i < 20; i++) await request(daemon.socketPath, "daemon", "ping", null);
  }
  expect(sent).toBeLessThan(30);
  for (let i = 0; i < count; i++) {
    const line = await lines.next("bounded");
    expect(Number(new TextDecoder().decode(line))).toBe(i);
  }
  daemon.hangUp();
  expect([await lines.next("bounded"), await lines.next("endless")]).toEqual([
    undefined,
    undefined,
  ]);
});

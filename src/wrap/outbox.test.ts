import net from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { FakeDaemon, Seen } from "../../test/harness/fake-daemon.ts";
import { type Message, Outbox } from "./outbox.ts";

const report = (session_id: string, n: number): Message => ({
  op: "observe",
  payload: { session_id, n },
});

const flushed = (outbox: Outbox, patienceMs = 15_000) =>
  new Promise<void>((resolve) => outbox.flush(patienceMs, resolve));

test("messages go out one after another, in order, and a newer report takes the older one's place", async () => {
  const lines: string[] = [];
  const daemon = await new FakeDaemon((socket, line) => {
    lines.push(line);
    expect(daemon.connections).toBe(1);
    socket.write('{"ok":true}\n');
  }).listen();
  const outbox = new Outbox(daemon.socketPath);
  outbox.add(report("a", 1));
  outbox.add(report("a", 2));
  outbox.add(report("a", 3));
  outbox.add({ op: "end", payload: { session_id: "a" } });
  outbox.add(report("b", 4));
  await flushed(outbox);
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { service: "sessions", ...report("a", 1) },
    { service: "sessions", ...report("a", 3) },
    { service: "sessions", op: "end", payload: { session_id: "a" } },
    { service: "sessions", ...report("b", 4) },
  ]);
});

test("no more than a few wait, and the newest stay", async () => {
  const seen = new Seen<string>();
  const daemon = await new FakeDaemon((socket, line) => {
    seen.add(JSON.parse(line).payload.session_id);
    socket.write("{}\n");
  }).listen();
  const outbox = new Outbox(daemon.socketPath);
  for (let i = 0; i < 100; i++) outbox.add(report(`${i}`, i));
  await flushed(outbox);
  expect(seen.values).toEqual(["0", ...Array.from({ length: 32 }, (_, i) => `${68 + i}`)]);
});

test("without a daemon everything is dropped at once", async () => {
  const outbox = new Outbox("/nowhere/daemon.sock");
  for (let i = 0; i < 10; i++) outbox.add(report(`${i}`, i));
  await flushed(outbox);
});

test("a daemon that never answers is not waited for longer than was said", async () => {
  const daemon = await new FakeDaemon(() => {}).listen();
  const outbox = new Outbox(daemon.socketPath);
  outbox.add(report("a", 1));
  outbox.add(report("b", 2));
  await flushed(outbox, 10);
  expect(daemon.connections).toBeLessThanOrEqual(1);
});

test("garbage, or a connection that is closed, counts as an answer", async () => {
  const daemon = await new FakeDaemon((socket, line) => {
    if (line.includes('"a"')) socket.write("\0\xff garbage");
    else socket.destroy();
  }).listen();
  const outbox = new Outbox(daemon.socketPath);
  outbox.add(report("a", 1));
  outbox.add(report("b", 2));
  await flushed(outbox);
  expect(daemon.asked).toEqual(["observe", "observe"]);
});

test("a path that is no socket is nobody's failure", async () => {
  const server = net.createServer();
  onTestFinished(() => void server.close());
  const outbox = new Outbox("/dev/null");
  outbox.add(report("a", 1));
  await flushed(outbox);
});

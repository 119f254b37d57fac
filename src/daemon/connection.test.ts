import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { FakeClock } from "../../test/harness/fake-clock.ts";
import { fakeService, gate, startTestDaemon, Wire } from "../../test/harness/test-daemon.ts";
import { ToolError } from "../core/protocol/errors.ts";
import { MAX_LINE_BYTES } from "../core/protocol/limits.ts";

const ping = { op: "ping" };
const list = { service: "sessions", op: "list" };
const pong = { ok: true, payload: { pong: true } };
const TOO_LONG = { ok: false, error: `a line is longer than ${MAX_LINE_BYTES} bytes` };

/** A ping of exactly this many bytes without its line end. */
const pingOf = (bytes: number) => {
  const bare = JSON.stringify({ ...ping, pad: "" });
  return JSON.stringify({ ...ping, pad: "x".repeat(bytes - bare.length) });
};

test("requests are understood however their bytes are cut", async () => {
  const { socketPath } = await startTestDaemon(undefined);
  const bytes = Buffer.from('{"op":"ping"}\n{"op":"ping","pad":"ä€😀"}\r\n\n{"op":"status"}\n');
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 8 }), async (cuts) => {
      const wire = await Wire.open(socketPath);
      let from = 0;
      for (const cut of [...cuts, bytes.length]) {
        await new Promise((sent) => wire.socket.write(bytes.subarray(from, from + cut), sent));
        from += cut;
      }
      wire.socket.end();
      const replies = (await wire.rest()).map((line) => JSON.parse(line));
      expect(replies).toEqual([
        pong,
        pong,
        { ok: true, payload: { services: [], version: expect.any(String) } },
      ]);
    }),
    { numRuns: 25 },
  );
});

test("a line of 1 MiB is answered; one byte more gets one error and the end", async () => {
  const { socketPath } = await startTestDaemon(undefined);
  const fits = await Wire.open(socketPath);
  fits.socket.write(`${pingOf(MAX_LINE_BYTES)}\n`);
  expect(await fits.json()).toEqual(pong);

  const over = await Wire.open(socketPath);
  over.socket.write(`${pingOf(MAX_LINE_BYTES + 1)}\n${JSON.stringify(ping)}\n`);
  expect(await over.json()).toEqual(TOO_LONG);
  expect(await over.rest()).toEqual([]);
});

test("a client that never ends its line reads why it was refused, and cannot stay", async () => {
  const clock = new FakeClock();
  const { socketPath } = await startTestDaemon(undefined, { clock });
  const wire = await Wire.open(socketPath);
  wire.socket.write("x".repeat(MAX_LINE_BYTES + 1));
  expect(await wire.json()).toEqual(TOO_LONG);
  wire.socket.write("and more");
  const closed = new Promise((resolve) => wire.socket.once("close", resolve));
  clock.advance(1000);
  wire.socket.write("x".repeat(MAX_LINE_BYTES));
  await closed;
});

test("a refused request leaves the connection open", async () => {
  const { socketPath } = await startTestDaemon(fakeService());
  const wire = await Wire.open(socketPath);
  wire.socket.write("no json\n[1]\n");
  wire.socket.write(Buffer.from([0x22, 0xff, 0x22, 0x0a]));
  wire.send(
    { op: "frobnicate" },
    { service: "nobody", op: "list" },
    { service: "sessions", op: "constructor" },
    { service: "sessions", op: "observe", payload: { event: "stop" } },
    list,
    ping,
  );
  wire.socket.end();
  const replies = (await wire.rest()).map((line) => JSON.parse(line));
  expect(replies.map((reply) => reply.error ?? reply.payload)).toEqual([
    "bad request: not one line of JSON in UTF-8",
    expect.stringMatching(/^bad request: /),
    "bad request: not one line of JSON in UTF-8",
    "unknown daemon op: frobnicate",
    "unknown service: nobody",
    "unknown sessions op: constructor",
    expect.stringMatching(/^bad sessions observe payload: session_id/),
    "unknown sessions op: list",
    { pong: true },
  ]);
});

test("an error that quotes a huge payload is cut", async () => {
  const { socketPath } = await startTestDaemon(fakeService());
  const wire = await Wire.open(socketPath);
  const event = "x".repeat(500_000);
  wire.send({ service: "sessions", op: "observe", payload: { session_id: "s", event } });
  expect((await wire.line())?.length).toBeLessThan(1200);
});

test("requests on one connection are answered in order, one at a time", async () => {
  const slow = gate();
  const running: string[] = [];
  const { socketPath } = await startTestDaemon(
    fakeService({
      handlers: {
        list: async () => {
          running.push("list");
          await slow.opened;
          return { sessions: [] };
        },
        end: () => {
          running.push("end");
          return { ended: true };
        },
      },
    }),
  );
  const wire = await Wire.open(socketPath);
  wire.send(list, { service: "sessions", op: "end", payload: { session_id: "s" } }, ping);
  const other = await Wire.open(socketPath);
  other.send(ping);
  expect(await other.json()).toEqual(pong);
  expect(running).toEqual(["list"]);
  slow.open();
  expect([await wire.json(), await wire.json(), await wire.json()]).toEqual([
    { ok: true, payload: { sessions: [] } },
    { ok: true, payload: { ended: true } },
    pong,
  ]);
});

test("a handler's own failure is told; a bug is not, and is logged without its message", async () => {
  const { socketPath, logged } = await startTestDaemon(
    fakeService({
      handlers: {
        list: () => {
          throw new TypeError("secret words\n    at secret places");
        },
        end: async () => {
          throw new ToolError("invalidPayload", "not like this");
        },
      },
    }),
  );
  const wire = await Wire.open(socketPath);
  wire.send(list, { service: "sessions", op: "end", payload: { session_id: "s" } }, ping);
  expect([await wire.json(), await wire.json(), await wire.json()]).toEqual([
    { ok: false, error: "internal error" },
    { ok: false, error: "not like this" },
    pong,
  ]);
  const bugs = logged.filter((line) => line.startsWith("error"));
  expect(bugs).toEqual([expect.stringMatching(/^error A request failed: TypeError at /)]);
  expect(bugs[0]).not.toContain("secret");
});

test("an answer over the limit is refused rather than sent", async () => {
  const { socketPath } = await startTestDaemon(
    fakeService({ handlers: { list: () => ({ sessions: "x".repeat(MAX_LINE_BYTES) }) } }),
  );
  const wire = await Wire.open(socketPath);
  wire.send(list);
  expect(await wire.json()).toEqual({
    ok: false,
    error: `the answer is longer than ${MAX_LINE_BYTES} bytes`,
  });
});

test("a client that ends its side after the request still gets the answer", async () => {
  const slow = gate();
  const { socketPath } = await startTestDaemon(
    fakeService({ handlers: { list: () => slow.opened.then(() => ({ sessions: [] })) } }),
  );
  const wire = await Wire.open(socketPath);
  wire.socket.end(`${JSON.stringify(list)}\n`);
  const other = await Wire.open(socketPath);
  other.send(ping);
  await other.json();
  slow.open();
  expect(await wire.rest()).toEqual(['{"ok":true,"payload":{"sessions":[]}}']);
});

test("a client that dies in the middle of a request, or before its answer, harms nobody", async () => {
  const slow = gate();
  let asked = 0;
  const { socketPath, logged } = await startTestDaemon(
    fakeService({
      handlers: {
        list: async () => {
          asked++;
          await slow.opened;
          return { sessions: "x".repeat(500_000) };
        },
      },
    }),
  );
  const torn = await Wire.open(socketPath);
  torn.socket.write('{"op":"pi');
  torn.socket.destroy();
  const impatient = await Wire.open(socketPath);
  impatient.send(list, list, list);
  await vi.waitFor(() => expect(asked).toBe(1));
  impatient.socket.destroy();
  slow.open();
  const wire = await Wire.open(socketPath);
  wire.send(ping);
  expect(await wire.json()).toEqual(pong);
  expect(logged).toEqual([`info Listening at ${socketPath}.`]);
});

test("what a client sends while its request takes time is not read without end", async () => {
  const slow = gate();
  const { socketPath } = await startTestDaemon(
    fakeService({ handlers: { list: () => slow.opened } }),
  );
  const wire = await Wire.open(socketPath);
  wire.send(list);
  const line = JSON.stringify({ ...ping, pad: "x".repeat(100_000) });
  const count = 100;
  let taken = 0;
  const feed = () => taken < count && wire.socket.write(`${line}\n`, () => ++taken && feed());
  feed();
  const other = await Wire.open(socketPath);
  let before = -1;
  while (before !== taken) {
    before = taken;
    for (let i = 0; i < 20; i++) {
      other.send(ping);
      await other.line();
    }
  }
  expect(taken).toBeLessThan(30);
  slow.open();
  for (let i = 0; i <= count; i++) expect(await wire.json()).toMatchObject({ ok: true });
});

test("a client that asks and never reads is not answered without end", async () => {
  let asked = 0;
  const reply = { sessions: "x".repeat(100_000) };
  const { socketPath } = await startTestDaemon(
    fakeService({
      handlers: {
        list: () => {
          asked++;
          return reply;
        },
      },
    }),
  );
  const wire = await Wire.open(socketPath);
  wire.socket.pause();
  const count = 1000;
  wire.send(...Array.from({ length: count }, () => list));
  const other = await Wire.open(socketPath);
  let before = -1;
  while (before !== asked) {
    before = asked;
    for (let i = 0; i < 20; i++) {
      other.send(ping);
      await other.line();
    }
  }
  expect(asked).toBeLessThan(50);
  wire.socket.resume();
  for (let i = 0; i < count; i++) await wire.line();
  expect(asked).toBe(count);
});

import { expect, test } from "vitest";
import { fakeService, gate, startTestDaemon, Wire } from "../../test/harness/test-daemon.ts";
import { ToolError } from "../core/protocol/errors.ts";
import type { RawOp } from "./service.ts";

const header = `${JSON.stringify({ service: "sessions", op: "end", payload: { session_id: "s" } })}\n`;
const done = { ok: true, payload: { ok: true } };

/** A daemon whose `end` op takes a body, and what it was given. */
async function rawDaemon(op: Partial<RawOp> = {}) {
  const taken: { header: unknown; body: string }[] = [];
  const daemon = await startTestDaemon(
    fakeService({
      raw: {
        end: {
          maxBytes: 3_000_000,
          run: (header, body) => taken.push({ header, body: body.toString("latin1") }),
          ...op,
        },
      },
    }),
  );
  return { ...daemon, taken };
}

test("what follows the header is the body, line ends and all, in one piece or many", async () => {
  const { socketPath, taken } = await rawDaemon();
  const body = Buffer.from('{"a":"\n\n\xff"}\n{"op":"ping"}\n', "latin1");
  for (const pieces of [[Buffer.concat([Buffer.from(header), body])], [header, ...body]]) {
    const wire = await Wire.open(socketPath);
    for (const piece of pieces)
      await new Promise((sent) =>
        wire.socket.write(typeof piece === "number" ? Buffer.of(piece) : piece, sent),
      );
    wire.socket.end();
    expect(await wire.json()).toEqual(done);
    expect(await wire.rest()).toEqual([]);
  }
  const expected = {
    header: expect.objectContaining({ session_id: "s" }),
    body: body.toString("latin1"),
  };
  expect(taken).toEqual([expected, expected]);
});

test("a body may follow requests, and may be empty", async () => {
  const { socketPath, taken } = await rawDaemon();
  const wire = await Wire.open(socketPath);
  wire.socket.end(`{"op":"ping"}\n${header}`);
  expect(await wire.rest()).toEqual(
    [{ ok: true, payload: { pong: true } }, done].map((reply) => JSON.stringify(reply)),
  );
  expect(taken.map(({ body }) => body)).toEqual([""]);
});

test("a body that was held back while an earlier request took its time arrives whole", async () => {
  const slow = gate();
  const asked = gate();
  const bodies: number[] = [];
  const { socketPath } = await startTestDaemon(
    fakeService({
      handlers: {
        list: async () => {
          asked.open();
          await slow.opened;
        },
      },
      raw: { end: { maxBytes: 3_000_000, run: (_, body) => bodies.push(body.length) } },
    }),
  );
  const wire = await Wire.open(socketPath);
  wire.send({ service: "sessions", op: "list" });
  await asked.opened;
  wire.socket.write(header);
  wire.socket.end("x".repeat(2_000_000));
  const other = await Wire.open(socketPath);
  other.send({ op: "ping" });
  await other.line();
  slow.open();
  expect(await wire.rest()).toEqual(['{"ok":true,"payload":null}', JSON.stringify(done)]);
  expect(bodies).toEqual([2_000_000]);
});

test("a body of the limit is taken, one byte more is refused", async () => {
  const { socketPath, taken } = await rawDaemon();
  const fits = await Wire.open(socketPath);
  fits.socket.write(header);
  fits.socket.end("x".repeat(3_000_000));
  expect(await fits.json()).toEqual(done);

  const over = await Wire.open(socketPath);
  over.socket.write(header);
  over.socket.end("x".repeat(3_000_001));
  expect(await over.json()).toEqual({ ok: false, error: "the body is longer than 3000000 bytes" });
  expect(taken.map(({ body }) => body.length)).toEqual([3_000_000]);
});

test("a bad header is refused like any request", async () => {
  const { socketPath } = await rawDaemon();
  const wire = await Wire.open(socketPath);
  wire.send({ service: "sessions", op: "end" }, { op: "ping" });
  expect(await wire.json()).toMatchObject({ ok: false });
  expect(await wire.json()).toEqual({ ok: true, payload: { pong: true } });
});

test("failures are told, and a client that does not wait for the answer is served too", async () => {
  const ran = gate();
  const failing = await rawDaemon({
    run: () => {
      throw new ToolError("invalidPayload", "not like this");
    },
  });
  const wire = await Wire.open(failing.socketPath);
  wire.socket.end(header);
  expect(await wire.rest()).toEqual(['{"ok":false,"error":"not like this"}']);

  const daemon = await rawDaemon({ run: () => ran.open() });
  const impatient = await Wire.open(daemon.socketPath);
  impatient.socket.write(`${header}body`, () => impatient.socket.destroy());
  await ran.opened;
});

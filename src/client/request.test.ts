import fs from "node:fs";
import { expect, test } from "vitest";
import { FakeDaemon } from "../../test/harness/fake-daemon.ts";
import { MAX_LINE_BYTES } from "../core/protocol/limits.ts";
import { request, requestLine } from "./request.ts";

const says = (...pieces: (string | Buffer)[]) =>
  new FakeDaemon((socket) => {
    for (const piece of pieces) socket.write(piece);
  }).listen();

const list = (socketPath: string, timeoutMs?: number) =>
  request(socketPath, "sessions", "list", null, { timeoutMs });

test("a request is one line, and its answer's payload is what comes back", async () => {
  const lines: string[] = [];
  const { socketPath } = await new FakeDaemon((socket, line) => {
    lines.push(line);
    socket.write('{"ok":true,"payload":{"ended":true}}\n');
  }).listen();
  expect(await request(socketPath, "sessions", "end", { session_id: "s" })).toEqual({
    ended: true,
  });
  expect(lines).toEqual(['{"service":"sessions","op":"end","payload":{"session_id":"s"}}']);
});

test("the payload's text is the daemon's own, byte for byte, in however many pieces", async () => {
  const text = '{"sessions":[],"big":1e400, "n":1.0,"ä":"\\u00e4"}';
  const bytes = Buffer.from(`{"ok":true,"payload":${text}}\nrest`);
  const { socketPath } = await new FakeDaemon(async (socket) => {
    for (const byte of bytes)
      await new Promise((sent) => socket.write(Buffer.of(byte), () => sent(undefined)));
  }).listen();
  expect(await requestLine(socketPath, "sessions", "list", null)).toBe(text);
});

test("a reply in another spelling is read by its meaning", async () => {
  for (const line of [
    '{"payload":{"a":1},"ok":true}\n',
    '{"ok":true,"payload":{"a":1},"more":{}}\n',
    ' { "ok" : true , "payload" : { "a" : 1 } }\r\n',
  ]) {
    const { socketPath } = await says(line);
    expect(await requestLine(socketPath, "sessions", "list", null)).toBe('{"a":1}');
  }
});

test("a refusal carries the daemon's words", async () => {
  const { socketPath } = await says('{"ok":false,"error":"unknown sessions op: list"}\n');
  await expect(list(socketPath)).rejects.toMatchObject({
    code: "daemonRefused",
    message: "The daemon refuses: unknown sessions op: list",
  });
});

test("what is no reply, breaks off or never ends is a broken reply", async () => {
  const broken = [
    "no json\n",
    "null\n",
    '{"ok":true}\n',
    '{"ok":"yes","payload":1}\n',
    '{"ok":true,"payload":{}\n',
    Buffer.from([0x22, 0xff, 0x22, 0x0a]),
    "x".repeat(MAX_LINE_BYTES + 1),
  ];
  for (const piece of broken) {
    const { socketPath } = await says(piece);
    await expect(list(socketPath)).rejects.toMatchObject({ code: "brokenReply" });
  }
  const torn = await new FakeDaemon((socket) => socket.end('{"ok":true,"pay')).listen();
  await expect(list(torn.socketPath)).rejects.toMatchObject({ code: "brokenReply" });
});

test("a reply of 1 MiB is read", async () => {
  const frame = '{"ok":true,"payload":""}';
  const text = `"${"x".repeat(MAX_LINE_BYTES - frame.length)}"`;
  const { socketPath } = await says(`{"ok":true,"payload":${text}}\n`);
  expect(await requestLine(socketPath, "sessions", "list", null)).toBe(text);
});

test("a daemon that cannot be reached is named with the reason", async () => {
  const absent = await says();
  await absent.goAway();
  const left = await says();
  fs.renameSync(left.socketPath, `${left.socketPath}.left`);
  await left.goAway();
  const mute = await says();
  const closing = await new FakeDaemon((socket) => socket.end()).listen();
  const slamming = await new FakeDaemon(
    () => {},
    (socket) => socket.destroy(),
  ).listen();
  const failures: [string, string][] = [
    [absent.socketPath, "there is no such socket"],
    [`${left.socketPath}.left`, "nobody listens there"],
    [mute.socketPath, "no answer within 0.05 s"],
    [closing.socketPath, "it closed the connection without an answer"],
    [slamming.socketPath, "it closed the connection without an answer"],
  ];
  for (const [socketPath, reason] of failures)
    await expect(list(socketPath, socketPath === mute.socketPath ? 50 : undefined)).rejects.toEqual(
      expect.objectContaining({
        code: "daemonUnreachable",
        message: `Cannot reach the daemon at ${socketPath}: ${reason}`,
      }),
    );
});

test("a request over the limit is not sent", async () => {
  const daemon = await says();
  const cwd = "x".repeat(MAX_LINE_BYTES);
  const event = "stop" as const;
  await expect(
    request(daemon.socketPath, "sessions", "observe", { session_id: "s", event, cwd }),
  ).rejects.toMatchObject({ code: "lineTooLong" });
  expect(daemon.asked).toEqual([]);
});

test("a caller that gives up rejects with its reason and leaves no connection", async () => {
  const abort = new AbortController();
  const daemon = await new FakeDaemon(() => abort.abort("enough")).listen();
  const asked = request(daemon.socketPath, "sessions", "list", null, { signal: abort.signal });
  await expect(asked).rejects.toBe("enough");
  const late = request(daemon.socketPath, "sessions", "list", null, { signal: abort.signal });
  await expect(late).rejects.toBe("enough");
});

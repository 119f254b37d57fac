import { expect, test, vi } from "vitest";
import { FakeDaemon, Seen } from "../../test/harness/fake-daemon.ts";
import { MAX_LINE_BYTES } from "../core/protocol/limits.ts";
import { subscribe } from "./subscribe.ts";

const frame = (payload: unknown) => `${JSON.stringify({ ok: true, payload })}\n`;

function start(daemon: FakeDaemon, options: { timeoutMs?: number; signal?: AbortSignal } = {}) {
  const frames = new Seen<string>();
  const end = subscribe(daemon.socketPath, "sessions", "subscribe", {
    onFrame: frames.add,
    signal: new AbortController().signal,
    ...options,
  });
  return { frames, end };
}

test("each frame is handed on as it was written, until the daemon closes", async () => {
  const daemon = await new FakeDaemon((socket) => {
    socket.write(`${frame(1)}${frame(2)}{"ok":true,"pay`);
    setImmediate(() => socket.end(`load":{"a": 3}}\n`));
  }).listen();
  const { frames, end } = start(daemon);
  expect(await end).toBe("closed");
  expect(frames.values).toEqual(["1", "2", '{"a": 3}']);
});

test("a refusal ends it although the daemon keeps the connection", async () => {
  const daemon = await new FakeDaemon((socket) =>
    socket.write('{"ok":false,"error":"unknown sessions op: subscribe"}\n'),
  ).listen();
  expect(await start(daemon).end).toBe("refused");
  await vi.waitFor(() => expect(daemon.connections).toBe(0));
});

test("torn, strange and endless frames end it like a lost connection", async () => {
  for (const junk of ["garbage\n", '{"ok":true}\n', "x".repeat(MAX_LINE_BYTES + 1)]) {
    const daemon = await new FakeDaemon((socket) => socket.write(frame(1) + junk)).listen();
    const { frames, end } = start(daemon);
    expect(await end).toBe("closed");
    expect(frames.values).toEqual(["1"]);
  }
  const torn = await new FakeDaemon((socket) => socket.end('{"ok":tr')).listen();
  expect(await start(torn).end).toBe("closed");
});

test("aborting ends it, before and after the first frame", async () => {
  for (const first of [frame(1), ""]) {
    const abort = new AbortController();
    const daemon = await new FakeDaemon((socket) => {
      socket.write(first);
      setImmediate(() => abort.abort());
    }).listen();
    expect(await start(daemon, { signal: abort.signal }).end).toBe("aborted");
    await vi.waitFor(() => expect(daemon.connections).toBe(0));
    expect(await start(daemon, { signal: abort.signal }).end).toBe("aborted");
  }
});

test("a daemon without a first frame is unreachable; a reader's own error is not swallowed", async () => {
  const mute = await new FakeDaemon(() => {}).listen();
  await expect(start(mute, { timeoutMs: 30 }).end).rejects.toMatchObject({
    code: "daemonUnreachable",
  });
  await mute.goAway();
  await expect(start(mute).end).rejects.toMatchObject({ code: "daemonUnreachable" });

  const daemon = await new FakeDaemon((socket) => socket.write(frame(1))).listen();
  const broken = subscribe(daemon.socketPath, "sessions", "subscribe", {
    onFrame: () => {
      throw new RangeError("mine");
    },
    signal: new AbortController().signal,
  });
  await expect(broken).rejects.toThrow("mine");
});

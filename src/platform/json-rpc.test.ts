import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { FakeClock } from "../../test/harness/fake-clock.ts";
import { type Clock, systemClock } from "./clock.ts";
import { JsonRpcClient } from "./json-rpc.ts";

let dir: string;
let http: Server;
let peer: Promise<WebSocket>;
let client: JsonRpcClient<string, string> | undefined;
let heard: unknown[];

beforeEach(async () => {
  dir = mkdtempSync(path.join(os.tmpdir(), "omni dev #1? 100%"));
  http = createServer();
  peer = new Promise((resolve) => {
    new WebSocketServer({ server: http }).on("connection", resolve);
  });
  await new Promise<void>((resolve) => http.listen(path.join(dir, "s"), resolve));
  heard = [];
});
afterEach(async () => {
  client?.end();
  await client?.over;
  await new Promise((resolve) => http.close(resolve));
  rmSync(dir, { recursive: true });
});

function connect(socketPath = path.join(dir, "s"), clock: Clock = systemClock) {
  client = new JsonRpcClient({
    socketPath,
    maxMessageBytes: 1000,
    answerMs: 5000,
    onMessage: (message) => heard.push(message),
    clock,
  });
  return client;
}

/** What a client sends next. */
const next = async () => {
  const socket = await peer;
  return new Promise<Record<string, unknown>>((resolve) => {
    socket.once("message", (data) => resolve(JSON.parse(data.toString())));
  });
};

test("each answer finds its question, and a refusal is no answer", async () => {
  const talk = connect();
  const socket = await peer;
  expect(await talk.opened).toBe(true);
  const asked: { id: number; method: string }[] = [];
  const all = new Promise<void>((resolve) => {
    socket.on("message", (data) => {
      if (asked.push(JSON.parse(data.toString())) === 3) resolve();
    });
  });
  const answers = ["one", "two", "three"].map((method) => talk.ask(method, { a: 1 }));
  await all;
  for (const { id, method } of asked.reverse()) {
    const answer = method === "two" ? { error: { code: 1 } } : { result: method };
    socket.send(JSON.stringify({ id, ...answer }));
  }
  expect(await Promise.all(answers)).toEqual(["one", undefined, "three"]);
});

test("it hears all that has a method, and answers none of it", async () => {
  const talk = connect();
  const socket = await peer;
  await talk.opened;
  const told = [{ method: "a" }, { method: "b", id: 1, params: {} }];
  for (const message of [...told, 7, null, { id: 9, result: 1 }]) {
    socket.send(JSON.stringify(message));
  }
  socket.send("no json");
  socket.send(Buffer.from(JSON.stringify({ method: "binary" })));
  talk.tell("now");
  expect(await next()).toEqual({ method: "now" });
  const asked = next();
  const answer = talk.ask("x", {});
  socket.send(JSON.stringify({ id: (await asked).id, result: "last" }));
  expect([await answer, heard]).toEqual(["last", told]);
});

test("a question that is not answered in time ends the connection, and all that are open", async () => {
  const clock = new FakeClock();
  const talk = connect(undefined, clock);
  await talk.opened;
  const answers = [talk.ask("one", {}), talk.ask("two", {})];
  clock.advance(4999);
  expect(talk.signal.aborted).toBe(false);
  clock.advance(1);
  expect(await Promise.all(answers)).toEqual([undefined, undefined]);
  expect(await talk.over).toEqual({ isAbsent: false, problem: "it does not answer" });
  expect(await talk.ask("three", {})).toBeUndefined();
});

test("a message may be as long as the limit, and no longer", async () => {
  const { opened, over } = connect();
  const socket = await peer;
  await opened;
  const message = (bytes: number) => `{"method":"${"x".repeat(bytes - 13)}"}`;
  socket.send(message(1000));
  socket.send(message(1001));
  const problem = "a message is longer than 1000 bytes";
  expect(await over).toEqual({ isAbsent: false, problem });
  expect(heard).toHaveLength(1);
});

test("a peer that goes, with or without a goodbye, is no problem", async () => {
  const talk = connect();
  const socket = await peer;
  await talk.opened;
  const answer = talk.ask("one", {});
  socket.terminate();
  expect([await answer, await talk.over]).toEqual([undefined, { isAbsent: false }]);
});

test("where nobody listens the connection does not come about, and nothing is thrown", async () => {
  const { opened, over } = connect(path.join(dir, "gone"));
  expect([await opened, await over]).toEqual([false, { isAbsent: true }]);
  expect(await connect(path.join(dir, "x".repeat(300))).opened).toBe(false);
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";

const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "omni-dev-test-")));
const sink = path.join(folder, "sink.cjs");
const socketPath = path.join(folder, "s");
let bytesOfBundle = 0;
let inputs: string[] = [];

beforeAll(async () => {
  const { metafile } = await build({
    stdin: {
      contents: `
        import { runSink } from "./src/hook/sink.ts";
        runSink(process.argv.slice(2), (flag) => flag);`,
      resolveDir: path.resolve(import.meta.dirname, ".."),
      loader: "ts",
    },
    outfile: sink,
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20.19",
    metafile: true,
  });
  inputs = Object.keys(metafile.inputs);
  bytesOfBundle = fs.statSync(sink).size;
});
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

/** Runs the sink with a file loaded before it, and returns what a daemon gets. */
async function send(preload: string, input: string | Buffer, args: string[] = []) {
  const before = path.join(folder, "before.cjs");
  fs.writeFileSync(before, preload);
  const received: Buffer[] = [];
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("data", (chunk) => received.push(chunk)).on("end", () => socket.end("{}\n"));
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env;
  const child = spawn(
    process.execPath,
    ["--require", before, sink, "--socket", socketPath, ...args],
    { env },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => {
      output += chunk;
    });
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const [status] = await once(child, "close");
  await new Promise((resolve) => server.close(resolve));
  return { status, output, received: Buffer.concat(received) };
}

test("it loads no other file, nor the modules of Node that cost most", async () => {
  const list = path.join(folder, "loaded.json");
  const preload = `
    const { reallyExit } = process;
    process.reallyExit = (code) => {
      const { writeFileSync } = require("node:fs");
      const files = Object.keys(require.cache).filter((file) => file !== __filename);
      const own = process.moduleLoadList.filter((name) => !before.has(name));
      writeFileSync(${JSON.stringify(list)}, JSON.stringify({ files, own }));
      reallyExit.call(process, code);
    };
    const before = new Set(process.moduleLoadList);`;
  const { status, output } = await send(preload, "{}");
  const { files, own } = JSON.parse(fs.readFileSync(list, "utf8"));
  expect({ status, output, files }).toEqual({ status: 0, output: "", files: [sink] });
  expect(
    own.filter((name: string) => /NativeModule (net|stream|tty|zlib|http)/.test(name)),
  ).toEqual([]);
});

test("its bundle is small, and holds neither command line nor zod", () => {
  expect(inputs.filter((file) => !/^(src\/hook\/|<stdin>)/.test(file))).toEqual([]);
  expect(bytesOfBundle).toBeLessThan(16_384);
});

const withoutBindings = `
  process.binding = () => {
    throw new Error("not here");
  };`;

test.each([
  ["Node's own pipes", ""],
  ["the net module, where these are not to be had", withoutBindings],
])("it delivers by %s", async (_, preload) => {
  const payload = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i & 0xff));
  const { status, output, received } = await send(preload, payload, ["--agent=codex"]);
  const end = received.indexOf("\n");
  expect({ status, output, payload: received.subarray(end + 1).equals(payload) }).toEqual({
    status: 0,
    output: "",
    payload: true,
  });
  expect(JSON.parse(received.subarray(0, end).toString())).toEqual({
    service: "sessions",
    op: "hook",
    payload: { agent: "codex", ppid: process.pid, env: expect.any(Object) },
  });
});

test("a payload that is a file is read as one", async () => {
  const file = path.join(folder, "payload");
  fs.writeFileSync(file, '{"a":1}');
  const received = net.createServer({ allowHalfOpen: true });
  const got = new Promise<string>((resolve) => {
    received.on("connection", (socket) => {
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk;
      });
      socket.on("end", () => {
        socket.end("{}\n");
        resolve(text);
      });
    });
  });
  await new Promise<void>((resolve) => received.listen(socketPath, resolve));
  const fd = fs.openSync(file, "r");
  const child = spawn(process.execPath, [sink, "--socket", socketPath], {
    stdio: [fd, "pipe", "pipe"],
  });
  fs.closeSync(fd);
  const [status] = await once(child, "close");
  expect([status, (await got).endsWith('\n{"a":1}')]).toEqual([0, true]);
  await new Promise((resolve) => received.close(resolve));
});

test("whatever goes wrong inside it ends it quietly", async () => {
  const preload = `
    Buffer.concat = () => {
      throw new Error("broken");
    };`;
  expect(await send(preload, "{}")).toMatchObject({ status: 0, output: "" });
});

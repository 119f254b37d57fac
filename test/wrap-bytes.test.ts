import { randomBytes } from "node:crypto";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { Program } from "./harness/program.ts";
import { script, Wrapped, wrapper } from "./harness/wrapped.ts";

const MIB = 1024 * 1024;

test("random bytes come through in both directions, all of them, as they are", async () => {
  const bytes = randomBytes(24 * MIB);
  const wrapped = new Wrapped(new Program(), ["cat"]);
  wrapped.child.stdin.end(bytes);
  expect(await wrapped.ended()).toEqual({ exit: 0, signal: null, stderr: "" });
  expect(wrapped.output.equals(bytes)).toBe(true);
});

test("so do lines of 10 MB, lines that look like messages, and one without an end", async () => {
  const line = (fill: string) => `{"type":"assistant","x":"${fill.repeat(10_000_000)}"}\n`;
  const lines = [
    line("a"),
    '{"type":"result"\n',
    line("é"),
    '{"type":"system"}\n',
    line("c"),
    '{"',
  ];
  const text = lines.join("");
  const wrapped = new Wrapped(new Program(), ["cat"]);
  wrapped.child.stdin.end(text);
  expect(await wrapped.ended()).toMatchObject({ exit: 0, stderr: "" });
  expect(wrapped.output.equals(Buffer.from(text))).toBe(true);
});

test("single bytes arrive one by one: nothing waits for the end of a line", async () => {
  const wrapped = new Wrapped(new Program(), ["cat"]);
  let sent = "";
  for (const byte of '{"type":"user"') {
    sent += byte;
    wrapped.child.stdin.write(byte);
    await wrapped.says(sent);
  }
  wrapped.child.stdin.end();
  expect(await wrapped.ended()).toMatchObject({ exit: 0 });
});

test("all that was written is read before the status, however late", async () => {
  const size = 8 * MIB;
  const write = `process.stdout.write(Buffer.alloc(${size}, "x"), () => process.exit(9))`;
  const wrapped = new Wrapped(new Program(), script(write));
  wrapped.child.stdout.pause();
  await once(wrapped.child.stdout, "readable");
  wrapped.child.stdout.resume();
  expect(await wrapped.ended()).toMatchObject({ exit: 9 });
  expect(wrapped.output.length).toBe(size);
});

/** Writes a lot, and tells on stderr how much of it nobody takes. */
const producer = `
  process.stdout.write(Buffer.alloc(32 * ${MIB}, "x"));
  let last = -1, same = 0;
  const timer = setInterval(() => {
    same = process.stdout.writableLength === last ? same + 1 : 0;
    last = process.stdout.writableLength;
    if (same < 5) return;
    clearInterval(timer);
    process.stderr.write("left " + last + "\\n");
  }, 20);`;

test("what the reader does not take stays with the child, and goes on when it does", async () => {
  const wrapped = new Wrapped(new Program(), script(producer));
  wrapped.child.stdout.pause();
  await wrapped.says("left ", "stderr");
  // All of it is one write, so it is left as a whole; what counts is what the wrapper holds.
  expect(wrapped.stderr).toBe(`left ${32 * MIB}\n`);
  const { VmHWM = 0 } = memoryOf(wrapped.child.pid);
  wrapped.child.stdout.resume();
  expect(await wrapped.ended()).toMatchObject({ exit: 0 });
  expect(wrapped.output.length).toBe(32 * MIB);
  if (process.platform === "linux") expect(VmHWM).toBeLessThan(idleNodeKib() + 16 * 1024);
});

test("what the child does not take stays with the writer", async () => {
  const wrapped = new Wrapped(
    new Program(),
    script(`
      const timer = setInterval(() => {}, 1000);
      process.on("SIGUSR2", () => {
        clearInterval(timer);
        process.stdin.pipe(process.stdout);
      });
      process.stderr.write("ready");`),
  );
  await wrapped.says("ready", "stderr");
  const bytes = randomBytes(8 * MIB);
  wrapped.child.stdin.end(bytes);
  await new Promise(setImmediate);
  expect(wrapped.child.stdin.writableLength).toBeGreaterThan(0);
  wrapped.child.kill("SIGUSR2");
  expect(await wrapped.ended()).toMatchObject({ exit: 0 });
  expect(wrapped.output.equals(bytes)).toBe(true);
});

test("a child that ends its output first is seen to, and runs on", async () => {
  const wrapped = new Wrapped(new Program(), ["sh", "-c", "echo last; exec >&-; read x; exit $x"]);
  await once(wrapped.child.stdout, "end");
  expect([wrapped.output.toString(), wrapped.child.exitCode]).toEqual(["last\n", null]);
  wrapped.child.stdin.end("12\n");
  expect(await wrapped.ended()).toMatchObject({ exit: 12 });
});

test("a child that ends its input is seen to", async () => {
  const wrapped = new Wrapped(new Program(), [
    "sh",
    "-c",
    "exec 0<&-; echo closed; trap 'exit 3' USR1; while :; do sleep 0.05; done",
  ]);
  await wrapped.says("closed");
  const closed = new Promise((resolve) => wrapped.child.stdin.once("close", resolve));
  const write = () => {
    if (!wrapped.child.stdin.destroyed) wrapped.child.stdin.write("x", () => setImmediate(write));
  };
  write();
  await closed;
  wrapped.child.kill("SIGUSR1");
  expect(await wrapped.ended()).toMatchObject({ exit: 3 });
});

test("a reader that goes is passed on as a broken pipe", async () => {
  const wrapped = new Wrapped(new Program(), ["yes"]);
  await wrapped.says("y\ny\n");
  wrapped.child.stdout.destroy();
  const [exit] = await once(wrapped.child, "exit");
  // A pipe of Node's is a socket: with something unread in it, it breaks without a signal.
  expect([128 + 13, 1]).toContain(exit);
});

test("in a pipeline of a shell, an end is seen as early", async () => {
  const user = new Program();
  const inShell = 'trap "" PIPE; "$@" | { cat; echo seen >&2; kill -USR1 $(cat pid); }';
  const child = [
    "sh",
    "-c",
    "echo $$ >pid; trap 'exit 3' USR1; echo last; exec >&-; while :; do sleep 0.05; done",
  ];
  const running = user.spawn(["sh", "-c", inShell, "sh", ...wrapper, ...child]);
  running.child.stdin.end();
  expect(await running.ended()).toEqual({ exit: 0, stdout: "last\n", stderr: "seen\n" });
});

test("files as input and output do as well", async () => {
  const user = new Program();
  const bytes = randomBytes(3 * MIB);
  const [from, to] = ["from", "to"].map((name) => path.join(user.home, name));
  fs.writeFileSync(from ?? "", bytes);
  const { exit } = await user
    .spawn(["sh", "-c", '"$@" < from > to', "sh", ...wrapper, "cat"])
    .ended();
  expect([exit, fs.readFileSync(to ?? "").equals(bytes)]).toEqual([0, true]);
});

test.runIf(process.platform === "linux")(
  "memory stays near that of an idle Node, and does not grow",
  async () => {
    const user = new Program();
    const wrapped = new Wrapped(user, [
      "sh",
      "-c",
      "head -c 100000000 /dev/urandom; read x; head -c 100000000 /dev/urandom; read x",
    ]);
    let size = 0;
    const peaks: number[] = [];
    wrapped.child.stdout.removeAllListeners("data").on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size % 100_000_000 !== 0) return;
      peaks.push(memoryOf(wrapped.child.pid).VmHWM ?? 0);
      wrapped.child.stdin.write("\n");
    });
    expect(await wrapped.ended()).toMatchObject({ exit: 0 });
    const [first = 0, second = 0] = peaks;
    expect(second).toBeLessThan(idleNodeKib() + 60 * 1024);
    expect(second - first).toBeLessThan(16 * 1024);
  },
);

function memoryOf(pid: number | "self" | undefined): Record<string, number> {
  const text = process.platform === "linux" ? fs.readFileSync(`/proc/${pid}/status`, "utf8") : "";
  return Object.fromEntries(
    [...text.matchAll(/^(Vm\w+):\s+(\d+) kB$/gm)].map(([, name = "", kib]) => [name, Number(kib)]),
  );
}

/** What Node takes before it has done anything: about the same in all versions that we run on. */
const idleNodeKib = () => 40 * 1024;

import { expect, test } from "vitest";
import { FakeDaemon } from "../../test/harness/fake-daemon.ts";
import { observeClaude } from "./observer.ts";

const ID = "22222222-2222-4222-8222-222222222222";

/** Lets an observer see bytes in each direction, and returns the states it reported. */
async function statesAfter(input: string, output = ""): Promise<string[]> {
  const states: string[] = [];
  const daemon = await new FakeDaemon((socket, line) => {
    states.push(JSON.parse(line).payload.event?.stream_state ?? "end");
    socket.write("{}\n");
  }).listen();
  const observer = observeClaude({
    pid: 1,
    args: ["--session-id", ID],
    cwd: "/w",
    entrypoint: undefined,
    socketPath: daemon.socketPath,
  });
  observer.sawInput(Buffer.from(input));
  observer.sawOutput(Buffer.from(output));
  observer.finish();
  await new Promise<void>((resolve) => observer.flush(15_000, resolve));
  return states;
}

const prompt = (size: number) => `{"type":"user","message":"${"x".repeat(size)}"}\n`;

test("a prompt is one, however long", async () => {
  expect(await statesAfter(prompt(10))).toEqual(["working", "end"]);
  expect(await statesAfter(prompt(2 ** 21))).toEqual(["working", "end"]);
});

test("other long lines are nothing, and what is broken disturbs nothing after it", async () => {
  expect(await statesAfter(`{"type":"control_request","x":"${"x".repeat(2 ** 21)}"}\n`)).toEqual(
    [],
  );
  expect(await statesAfter(`{"type":\n\xff\n{}\nnull\n${prompt(1)}`)).toEqual(["working", "end"]);
  const output = `{"type":"result"\n[]\n{"result":1,"type":"result"}\n`;
  expect(await statesAfter(prompt(1), output)).toEqual(["working", "idle", "end"]);
});

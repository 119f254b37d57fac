import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseRecord, reportOf } from "./record.ts";
import { sessionOfTranscript, transcriptFolder } from "./transcript.ts";

const S1 = "11111111-1111-4111-8111-111111111111";
const base = {
  pid: 4001,
  sessionId: S1,
  procStart: "900",
  startedAt: 5,
  status: "idle",
  statusUpdatedAt: 10,
};
const read = (fields: object) => {
  const record = parseRecord(JSON.stringify({ ...base, ...fields }));
  return record && reportOf(record, "900", undefined);
};

const words: [object, string | undefined][] = [
  [{ status: "busy" }, "working"],
  [{ status: "idle" }, "idle"],
  [{ status: "shell" }, "idle"],
  [{ status: "waiting", waitingFor: "permission prompt" }, "waiting_for_permission"],
  [{ status: "waiting", waitingFor: "sandbox request" }, "waiting_for_permission"],
  [{ status: "waiting", waitingFor: "input needed" }, "waiting_for_input"],
  [{ status: "waiting", waitingFor: "dialog open" }, "waiting_for_input"],
  [{ status: "waiting", waitingFor: "a word of tomorrow" }, "waiting_for_input"],
  [{ status: "waiting" }, "waiting_for_input"],
  [{ status: "pondering" }, undefined],
];
for (const [fields, state] of words) {
  test(`${JSON.stringify(fields)} says ${state ?? "nothing"}`, () => {
    expect(read(fields)?.state).toBe(state);
  });
}

test("A22: a record without a status says nothing of the state", () => {
  const record = read({ status: undefined });
  expect(record).toMatchObject({ word: "no status" });
  expect(record).not.toHaveProperty("state");
});

test("B9: who sits at it is told by the entrypoint; one of tomorrow is somebody's", () => {
  const told = [
    "cli",
    "claude-vscode",
    "claude-desktop",
    "tomorrow",
    "sdk-cli",
    "sdk-ts",
    "sdk-py",
  ].map((entrypoint) => [
    entrypoint,
    read({ entrypoint })?.headless,
    read({ entrypoint })?.interactive,
  ]);
  expect(told).toEqual([
    ["cli", false, true],
    ["claude-vscode", false, false],
    ["claude-desktop", false, false],
    ["tomorrow", false, false],
    ["sdk-cli", true, false],
    ["sdk-ts", true, false],
    ["sdk-py", true, false],
  ]);
  expect(read({ entrypoint: "cli", kind: "daemon-worker" })?.headless).toBe(true);
});

test("only a name that the user gave is one", () => {
  expect(read({ name: "app-34", nameSource: "derived" })).not.toHaveProperty("name");
  expect(read({ name: "Payment bug", nameSource: "user" })?.name).toBe("Payment bug");
});

test("what is torn or lacks an identity is no record", () => {
  const whole = JSON.stringify(base);
  for (const text of ["", "null", "[]", "7", whole.slice(0, -1), `${whole}e":1}`])
    expect(parseRecord(text), text).toBeUndefined();
  for (const field of ["pid", "sessionId", "procStart"])
    expect(read({ [field]: undefined }), field).toBeUndefined();
  for (const pid of [0, -1, 1.5, "4001", null]) expect(read({ pid }), String(pid)).toBeUndefined();
});

test("fields of other types than expected are left out", () => {
  expect(
    read({ cwd: 7, name: {}, kind: [], waitingFor: 1, statusUpdatedAt: "now", updatedAt: 8 }),
  ).toEqual({
    agent: "claude",
    pid: 4001,
    startToken: "900",
    sessionId: S1,
    word: "idle",
    state: "idle",
    statusAt: 8,
    startedAt: 5,
    headless: false,
    interactive: false,
  });
});

type Encoding = { cwd: string; dir: string[] };
const captured = new URL("../../../../test/fixtures/claude/cwd-encoding.json", import.meta.url);
const encodings: Encoding[] = JSON.parse(readFileSync(captured, "utf8"));

test("folders are named as Claude names them", () => {
  expect(encodings.length).toBeGreaterThan(5);
  for (const { cwd, dir } of encodings) {
    // The homes of the captures were renamed, the folders with them one level deeper.
    const { name, isPrefix } = transcriptFolder(cwd.replace("/home/user/", "/home/user/code/"));
    const found = dir.some((folder) =>
      isPrefix ? folder.startsWith(name.slice(0, 190)) : folder === name,
    );
    expect(found, `${cwd}: ${name}`).toBe(true);
  }
});

test("only files named like a session are its transcript", () => {
  expect(sessionOfTranscript(`${S1}.jsonl`)).toBe(S1);
  for (const name of [S1, "agent-a7347c75.jsonl", "notes.jsonl", `${S1}.json`, `x${S1}.jsonl`])
    expect(sessionOfTranscript(name), name).toBeUndefined();
});

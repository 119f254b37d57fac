import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ClaudeStream } from "../core/agents/claude/stream.ts";
import { contentHeads } from "../core/agents/claude/stream-line.ts";
import { Lines } from "./lines.ts";

const MAX_BYTES = 100;

/** What comes out of these pieces. */
function read(pieces: readonly Buffer[], { isQuiet = true } = {}) {
  const seen: string[] = [];
  const lines = new Lines({
    maxBytes: MAX_BYTES,
    quietHeads: [Buffer.from('{"quiet"'), Buffer.from('{"silent":')],
    isQuiet: () => isQuiet,
    onLine: (line) => seen.push(line.toString("latin1")),
    onLongLine: (head) => seen.push(`long ${head.subarray(0, 3).toString("latin1")}`),
  });
  for (const piece of pieces) lines.push(Buffer.from(piece));
  return seen;
}

const split = (bytes: Buffer, cuts: readonly number[]): Buffer[] => {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length];
  places.sort((a, b) => a - b);
  return places.slice(1).map((to, i) => bytes.subarray(places[i], to));
};

test("any split of the bytes gives the same lines", () => {
  const line = fc.oneof(
    fc.constantFrom("", "{", "{}", '{"quiet"', '{"quiet":1}', '{"silent":2}', '{"silent"}', "x{}"),
    fc.integer({ min: MAX_BYTES - 3, max: MAX_BYTES + 3 }).map((size) => `{${"z".repeat(size)}`),
    fc.constantFrom('{"quiet"', "x").map((head) => head + "y".repeat(MAX_BYTES)),
    fc.string({ maxLength: 20 }).map((text) => `{"${text.replaceAll("\n", "")}`),
    fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes).toString("latin1")),
  );
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat()), fc.boolean(), (lines, cuts, isQuiet) => {
      const bytes = Buffer.from(lines.map((it) => `${it}\n`).join(""), "latin1");
      expect(read(split(bytes, cuts), { isQuiet })).toEqual(read([bytes], { isQuiet }));
    }),
    { numRuns: 1000 },
  );
});

test("what does not begin like an object is passed over, and what is quiet, while it is", () => {
  const text = Buffer.from('[1]\n{"quiet":1}\n{"a":1}\r\n\n{"quie":1}\n {}\n{"half');
  expect(read([text])).toEqual(['{"a":1}\r', '{"quie":1}']);
  expect(read([text], { isQuiet: false })).toEqual(['{"quiet":1}', '{"a":1}\r', '{"quie":1}']);
});

test("a line of the limit is read, a longer one is not, and the next one is read again", () => {
  const sized = (size: number) => `{${"x".repeat(size - 1)}\n`;
  const text = `${sized(MAX_BYTES)}${sized(MAX_BYTES + 1)}{"next"}\n`;
  const expected = [sized(MAX_BYTES).trim(), "long {xx", '{"next"}'];
  expect(read([Buffer.from(text)])).toEqual(expected);
  expect(read(Buffer.from(text).toString().split("").map(Buffer.from))).toEqual(expected);
});

const fixtures = new URL("../../test/fixtures/claude/stream/", import.meta.url).pathname;

test.each(readdirSync(fixtures).filter((name) => name.endsWith(".ndjson")))(
  "%s: to read only some of the lines, in any pieces, says the same as to read them all",
  (file) => {
    const records = readFileSync(path.join(fixtures, file), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const fresh = () =>
      new ClaudeStream({ id: undefined, isResumed: false, cwd: undefined, model: undefined });
    const all = fresh();
    const some = fresh();
    let read = 0;
    const options = (note: (line: unknown) => void) => ({
      maxBytes: 2 ** 20,
      onLine: (line: Buffer) => {
        read += 1;
        note(JSON.parse(line.toString()));
      },
      onLongLine: () => {},
    });
    let now = 0;
    const input = new Lines({
      ...options((line) => some.noteInput(line, now)),
      quietHeads: [],
      isQuiet: () => false,
    });
    const output = new Lines({
      ...options((line) => some.noteOutput(line, now)),
      quietHeads: contentHeads.map((head) => Buffer.from(head)),
      isQuiet: () => some.isContentKnown,
    });
    let step = 1;
    for (const { ts, dir, line } of records) {
      if (dir === "record") continue;
      now = ts;
      if (dir === "in") all.noteInput(line, ts);
      else all.noteOutput(line, ts);
      const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
      for (let at = 0; at < bytes.length; at += step)
        (dir === "in" ? input : output).push(bytes.subarray(at, at + step));
      step = (step * 7 + 3) % 101 || 1;
      expect([some.stateAt(ts), some.session]).toEqual([all.stateAt(ts), all.session]);
    }
    expect(read).toBeLessThan(records.filter(({ dir }) => dir !== "record").length);
  },
);

import fc from "fast-check";
import { expect, test } from "vitest";
import { MAX_LINE_BYTES } from "./limits.ts";
import { LineReader } from "./lines.ts";

const decode = (line: Uint8Array | "tooLong" | undefined) =>
  line instanceof Uint8Array ? new TextDecoder().decode(line) : line;

function readAll(reader: LineReader): unknown[] {
  const lines: unknown[] = [];
  for (let line = decode(reader.next()); line !== undefined; line = decode(reader.next())) {
    lines.push(line);
    if (line === "tooLong") break;
  }
  return lines;
}

test("any split of the bytes gives the same lines, and the same rest", () => {
  const line = fc.string({ unit: "binary" }).map((s) => s.replaceAll("\n", ""));
  fc.assert(
    fc.property(fc.array(line), line, fc.array(fc.nat({ max: 40 })), (lines, rest, cuts) => {
      const bytes = new TextEncoder().encode(lines.map((l) => `${l}\n`).join("") + rest);
      const reader = new LineReader(MAX_LINE_BYTES);
      const found: unknown[] = [];
      let from = 0;
      for (const cut of [...cuts, bytes.length]) {
        reader.push(bytes.subarray(from, from + cut));
        from += cut;
        found.push(...readAll(reader));
      }
      expect(found).toEqual(lines.map((l) => decode(new TextEncoder().encode(l))));
      expect(Buffer.concat(reader.takeRest()).equals(Buffer.from(rest, "utf8"))).toBe(true);
    }),
  );
});

test("a line of exactly the limit is read, one byte more is refused", () => {
  const reader = new LineReader(4);
  reader.push(Buffer.from("1234\n12345\n"));
  expect(readAll(reader)).toEqual(["1234", "tooLong"]);
});

test("an endless line is refused as soon as it passes the limit, not when it ends", () => {
  const reader = new LineReader(4);
  reader.push(Buffer.from("123"));
  expect(reader.next()).toBeUndefined();
  reader.push(Buffer.from("45"));
  expect(reader.next()).toBe("tooLong");
});

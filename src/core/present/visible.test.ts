import fc from "fast-check";
import { expect, test } from "vitest";
import { visible } from "./visible.ts";

test.each([
  ["\x1b[2J", "\\x1b[2J"],
  ["a\nb\r\tc\0", "a\\x0ab\\x0d\\x09c\\x00"],
  ["\x7f\x9b", "\\x7f\\x9b"],
  ["\u202egnp.exe\u202c", "\\u202egnp.exe\\u202c"],
  ["\u2066x\u2069\u200f\u061c", "\\u2066x\\u2069\\u200f\\u061c"],
  ["a\u200bb\u2060c\ufeffd\u00ade", "a\\u200bb\\u2060c\\ufeffd\\xade"],
  ["\u2028\u2029\u3164", "\\u2028\\u2029\\u3164"],
  ["\ud800x\udc00", "\\ud800x\\udc00"],
  ["\u{e0041}", "\\u{e0041}"],
  ["a\ufe0f", "a\\ufe0f"],
])("%j is shown as %s", (text, shown) => {
  expect(visible(text)).toBe(shown);
});

test("letters of any script, accents and emoji stay as they are", () => {
  for (const text of ["~/src/café", "cafe\u0301", "日本語", "🚀 launch", "👍🏽", "ﷺ", "\\x1b"])
    expect(visible(text)).toBe(text);
});

test("an emoji loses the mark of its drawing, about whose width terminals disagree", () => {
  expect(visible("❤\ufe0f ⚙\ufe0f")).toBe("❤ ⚙");
});

test("nothing that a terminal obeys, and nothing unseen, ever passes", () => {
  const unseen: [number, number][] = [
    [0x00, 0x1f],
    [0x7f, 0x9f],
    [0x200b, 0x200f],
    [0x2028, 0x202e],
    [0x2060, 0x206f],
    [0xd800, 0xdfff],
    [0xfeff, 0xfeff],
  ];
  const character = fc.oneof(
    fc.string({ unit: "binary" }),
    ...unseen.map(([min, max]) => fc.integer({ min, max }).map((c) => String.fromCharCode(c))),
  );
  fc.assert(
    fc.property(fc.array(character), (parts) => {
      const shown = Array.from(visible(parts.join("")), (c) => c.codePointAt(0) ?? 0);
      const passed = shown.filter((c) => unseen.some(([min, max]) => c >= min && c <= max));
      expect(passed).toEqual([]);
    }),
  );
});

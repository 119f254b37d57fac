import { expect, test } from "vitest";
import { cutEnd, cutStart, pad } from "./cells.ts";

test("text that fits stays, one cell less cuts it", () => {
  expect([cutEnd("abcd", 4), cutEnd("abcd", 3), cutEnd("abcd", 1), cutEnd("abcd", 0)]).toEqual([
    "abcd",
    "ab…",
    "…",
    "",
  ]);
  expect([cutStart("abcd", 4), cutStart("abcd", 3), cutStart("abcd", 0)]).toEqual([
    "abcd",
    "…cd",
    "",
  ]);
});

test("a wide character is never halved, and padding makes up for it", () => {
  expect([cutEnd("日本語", 4), cutStart("日本語", 4), cutEnd("日本語", 5)]).toEqual([
    "日…",
    "…語",
    "日本…",
  ]);
  expect(pad(cutEnd("日本語", 4), 4)).toBe("日… ");
});

test("a character of several code points is kept whole or not at all", () => {
  expect([cutEnd("e\u0301e\u0301e\u0301", 2), cutEnd("👍🏽👍🏽", 3)]).toEqual([
    "e\u0301…",
    "👍🏽…",
  ]);
});

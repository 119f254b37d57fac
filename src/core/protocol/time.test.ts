import fc from "fast-check";
import { expect, test } from "vitest";
import { formatTime, parseTime } from "./time.ts";

test("times are written as Date writes them, and read back, for every day until 9999", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 253_402_300_799_999 }), (at) => {
      expect(formatTime(at)).toBe(new Date(at).toISOString());
      expect(parseTime(formatTime(at))).toBe(at);
    }),
  );
});

test("offsets, missing fractions and long fractions are read", () => {
  expect(parseTime("2026-11-29T17:42:52Z")).toBe(Date.UTC(2026, 10, 29, 17, 42, 52));
  expect(parseTime("2026-11-29T19:42:52.5+02:00")).toBe(Date.UTC(2026, 10, 29, 17, 42, 52, 500));
  expect(parseTime("2026-11-29T17:42:52.123456789Z")).toBe(Date.UTC(2026, 10, 29, 17, 42, 52, 123));
});

test("what is no RFC 3339 time is refused", () => {
  for (const text of [
    "",
    "now",
    "2026-02-30T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-11-29",
    "1764438172",
  ])
    expect(parseTime(text), text).toBeUndefined();
});

import { expect, test } from "vitest";
import { ageOf } from "./age.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

test.each([
  [0, "0s"],
  [SECOND - 1, "0s"],
  [SECOND, "1s"],
  [MINUTE - 1, "59s"],
  [MINUTE, "1m"],
  [HOUR - 1, "59m"],
  [HOUR, "1h 00m"],
  [2 * HOUR + 5 * MINUTE, "2h 05m"],
  [DAY - 1, "23h 59m"],
  [DAY, "1d"],
  [4 * DAY - 1, "3d"],
  [400 * DAY, "400d"],
])("%i ms ago is written %s", (ms, text) => {
  expect(ageOf(1_000_000, 1_000_000 + ms)).toBe(text);
});

test("a time that is still to come is no time ago", () => {
  expect(ageOf(DAY, 0)).toBe("0s");
});

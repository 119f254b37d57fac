import { expect, test } from "vitest";
import { painted, paintFor, unpainted } from "./paint.ts";

const terminal = { isTTY: true };
const pipe = {};

test.each([
  ["a terminal", terminal, {}, painted],
  ["a pipe", pipe, {}, unpainted],
  ["a terminal with NO_COLOR", terminal, { NO_COLOR: "1" }, unpainted],
  ["a terminal with an empty NO_COLOR", terminal, { NO_COLOR: "" }, painted],
  ["a terminal that is dumb", terminal, { TERM: "dumb" }, unpainted],
  ["a pipe with FORCE_COLOR", pipe, { FORCE_COLOR: "1" }, painted],
  ["a pipe with an empty FORCE_COLOR", pipe, { FORCE_COLOR: "" }, painted],
  ["a terminal with FORCE_COLOR=0", terminal, { FORCE_COLOR: "0" }, unpainted],
  ["both set", terminal, { NO_COLOR: "1", FORCE_COLOR: "1" }, unpainted],
])("colours for %s", (_, stream, env, paint) => {
  expect(paintFor(stream, env)).toBe(paint);
});

test("a style is ended where its text ends, and no text has none", () => {
  expect([painted("alert", "x"), painted("plain", "x"), painted("dim", "")]).toEqual([
    "\x1b[1;33mx\x1b[0m",
    "x",
    "",
  ]);
});

import { expect, test } from "vitest";
import { states } from "../protocol/session.ts";
import { anEntry } from "./an-entry.ts";
import { summaryOf } from "./counts.ts";

test("both kinds of waiting are one number, starting is idle, ended ones are none", () => {
  const all = states.map((state) => anEntry({ state }));
  expect(summaryOf(all)).toBe("5 session(s): 1 working, 2 waiting, 2 idle");
});

test("headless runs are not counted", () => {
  const entries = [anEntry({ state: "working" }), anEntry({ state: "working", headless: true })];
  expect(summaryOf(entries)).toBe("1 session(s): 1 working, 0 waiting, 0 idle");
});

test("nothing is counted as nothing", () => {
  expect(summaryOf([])).toBe("0 session(s): 0 working, 0 waiting, 0 idle");
});

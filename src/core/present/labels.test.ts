import { expect, test } from "vitest";
import { states } from "../protocol/session.ts";
import { anEntry } from "./an-entry.ts";
import { labelOf, statusOf } from "./labels.ts";

test("every state has its own word and its own glyph", () => {
  const labels = states.map(labelOf);
  expect(labels.map(({ word }) => word)).toEqual([
    "starting",
    "working",
    "idle",
    "needs input",
    "needs permission",
    "ended",
  ]);
  expect(new Set(labels.map(({ glyph }) => glyph)).size).toBe(states.length);
});

test("a state of a newer daemon is shown as it is spelled", () => {
  expect(labelOf("dreaming" as "idle")).toEqual({ glyph: "·", word: "dreaming" });
  expect(labelOf("constructor" as "idle")).toEqual({ glyph: "·", word: "constructor" });
});

test("a failed turn and background commands stand beside the state", () => {
  const status = (fields: Parameters<typeof anEntry>[0]) => {
    const { glyph, word } = statusOf(anEntry(fields));
    return `${glyph} ${word}`;
  };
  expect(status({ state: "idle" })).toBe("◦ idle");
  expect(status({ state: "idle", error: "rate_limit" })).toBe("✗ idle (rate_limit)");
  expect(status({ state: "idle", background: 2 })).toBe("◦ idle +2 bg");
  expect(status({ state: "idle", background: 0 })).toBe("◦ idle");
  expect(status({ state: "ended", error: "rate_limit" })).toBe("- ended");
});

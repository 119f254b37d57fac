import fc from "fast-check";
import { expect, test } from "vitest";
import { type Entry, states } from "../protocol/session.ts";
import { formatTime } from "../protocol/time.ts";
import { anEntry } from "./an-entry.ts";
import { inOrder } from "./order.ts";

const named = (name: string, fields: Partial<Entry>, sinceSeconds = 0) =>
  anEntry({ session_id: name, state_since: formatTime(sinceSeconds * 1000), ...fields });
const ids = (entries: Entry[]) => entries.map((entry) => entry.session_id);

test("those that need somebody come first, whatever order they are given in", () => {
  const wanted = [
    named("permission", { state: "waiting_for_permission" }),
    named("input", { state: "waiting_for_input" }),
    named("failed", { state: "idle", error: "rate_limit" }),
    named("working", { state: "working" }, 9),
    named("idle", { state: "idle" }, 8),
    named("starting", { state: "starting" }, 7),
    named("ended", { state: "ended", error: "rate_limit" }, 10),
  ];
  fc.assert(
    fc.property(fc.shuffledSubarray(wanted, { minLength: wanted.length }), (given) => {
      expect(ids(inOrder(given))).toEqual(ids(wanted));
    }),
  );
});

test("the longest wait comes first, and of the others the latest change", () => {
  const given = [
    named("waits 1", { state: "waiting_for_input" }, 30),
    named("waits 2", { state: "waiting_for_input" }, 10),
    named("works 1", { state: "working" }, 10),
    named("works 2", { state: "working" }, 30),
  ];
  expect(ids(inOrder(given))).toEqual(["waits 2", "waits 1", "works 2", "works 1"]);
});

test("sessions that differ in nothing else are ordered by id, and none is lost", () => {
  const entry = fc.record({
    session_id: fc.string(),
    state: fc.constantFrom(...states),
    state_since: fc.constantFrom(formatTime(1000), formatTime(2000), "no time"),
  });
  const distinct = fc.uniqueArray(entry, { selector: (fields) => fields.session_id });
  fc.assert(
    fc.property(distinct, (fields) => {
      const given = fields.map((field) => anEntry(field));
      const ordered = inOrder(given);
      expect(inOrder(given.toReversed())).toEqual(ordered);
      expect(ids(ordered).sort()).toEqual(ids(given).sort());
    }),
  );
});

test("a state of a newer daemon stands among the idle ones", () => {
  const given = [
    named("ended", { state: "ended" }),
    named("new", { state: "dreaming" as "idle" }),
    named("working", { state: "working" }),
  ];
  expect(ids(inOrder(given))).toEqual(["working", "new", "ended"]);
});

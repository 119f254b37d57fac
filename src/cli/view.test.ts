import { expect, test } from "vitest";
import { anEntry } from "../core/present/an-entry.ts";
import { formatTime } from "../core/protocol/time.ts";
import { listingLines } from "./listing.ts";
import { painted, unpainted } from "./paint.ts";
import { screenLines, type View } from "./view.ts";

const now = 3_600_000;
const options = { now, width: 60, height: 8, all: false, shorten: (path: string) => path };
const named = (name: string, fields: Parameters<typeof anEntry>[0]) =>
  anEntry({ session_id: name, name, state_since: formatTime(now - 5000), cwd: "/w", ...fields });
const entries = [
  named("one", { state: "idle" }),
  named("two", { state: "waiting_for_permission" }),
  named("three", { state: "working", headless: true }),
];

const drawn = (view: View, more = {}) =>
  screenLines(view, { ...options, paint: unpainted, ...more }).join("\n");

test("those that wait stand above the others, the counts above all", () => {
  expect(drawn({ entries, link: "live" })).toMatchInlineSnapshot(`
    "2 session(s): 0 working, 1 waiting, 1 idle

    STATE               SINCE  AGENT   SESSION  DIRECTORY  MODEL
    ! needs permission  5s     claude  two      /w
    ◦ idle              5s     claude  one      /w


    q quit  1 headless run is hidden; --all shows it"
  `);
});

test("headless runs are shown when asked for", () => {
  expect(drawn({ entries, link: "live" }, { all: true })).toMatchInlineSnapshot(`
    "2 session(s): 0 working, 1 waiting, 1 idle

    STATE               SINCE  AGENT   SESSION  DIRECTORY  MODEL
    ! needs permission  5s     claude  two      /w
    ▸ working           5s     claude  three    /w
    ◦ idle              5s     claude  one      /w

    q quit"
  `);
});

test("rows that have no room are counted", () => {
  expect(drawn({ entries, link: "live" }, { all: true, height: 6 })).toMatchInlineSnapshot(`
    "2 session(s): 0 working, 1 waiting, 1 idle

    STATE               SINCE  AGENT   SESSION  DIRECTORY  MODEL
    ! needs permission  5s     claude  two      /w
    … 2 more
    q quit"
  `);
});

test("before the first frame there is no table, and an empty one tells what to do", () => {
  expect(drawn({ link: "connecting" }, { height: 4 })).toMatchInlineSnapshot(`
    "omni-dev sessions
    connecting to the daemon…

    q quit"
  `);
  expect(drawn({ entries: [], link: "live" }, { height: 6 })).toMatchInlineSnapshot(`
    "0 session(s): 0 working, 0 waiting, 0 idle

    No sessions are running.
    Start claude or codex in another terminal: it appears here.

    q quit"
  `);
});

test("it says when the daemon runs in this window", () => {
  const view: View = { entries: [], link: "live", embeddedAt: "/data/\x1bdaemon.sock" };
  expect(drawn(view).split("\n")[1]).toBe(
    "the daemon runs in this window, at /data/\\x1bdaemon.sock",
  );
});

test("when the daemon is lost, what was known last is dimmed, the waiting rows as well", () => {
  const lines = screenLines({ entries, link: "lost" }, { ...options, paint: painted });
  expect(lines.map((line) => line.replaceAll("\x1b", "^"))).toMatchInlineSnapshot(`
    [
      "^[1m2 session(s): 0 working, 1 waiting, 1 idle^[0m",
      "^[1;33mdaemon lost, reconnecting…^[0m",
      "^[2mSTATE               SINCE  AGENT   SESSION  DIRECTORY  MODEL^[0m",
      "^[2m! needs permission  5s     claude  two      /w^[0m",
      "^[2m◦ idle              5s     claude  one      /w^[0m",
      "",
      "",
      "^[2mq quit  1 headless run is hidden; --all shows it^[0m",
    ]
  `);
});

test("a screen never has more lines than the terminal", () => {
  for (let height = 0; height < 12; height++)
    for (const view of [
      { entries, link: "live" },
      { entries: [], link: "lost" },
    ] as View[])
      expect(screenLines(view, { ...options, height, paint: painted })).toHaveLength(height);
});

test("a list of nothing but headless runs says so", () => {
  const headless = [anEntry({ headless: true })];
  expect(listingLines(headless, { ...options, paint: unpainted })).toEqual([
    "No sessions are running.",
    "Start claude or codex in another terminal: it appears here.",
    "1 headless run is hidden; --all shows it",
  ]);
});

test("a list ends with the number of those it hides", () => {
  const lines = listingLines(entries, { ...options, paint: painted });
  expect(lines.at(-1)).toBe("\x1b[2m1 headless run is hidden; --all shows it\x1b[0m");
  expect(listingLines(entries, { ...options, all: true, paint: painted })).toHaveLength(4);
});

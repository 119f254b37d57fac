import fc from "fast-check";
import { expect, test } from "vitest";
import { anEntry } from "../core/present/an-entry.ts";
import { states } from "../core/protocol/session.ts";
import { formatTime } from "../core/protocol/time.ts";
import { widthOf } from "./cells.ts";
import { painted, unpainted } from "./paint.ts";
import { tableLines } from "./table.ts";

const now = 100 * 3_600_000;
const ago = (ms: number) => formatTime(now - ms);
const shorten = (path: string) => path.replace("/home/me", "~");

const entries = [
  anEntry({
    state: "waiting_for_permission",
    state_since: ago(12 * 60_000),
    name: "release notes",
    repo: "app",
    cwd: "/home/me/src/app",
    model: "claude-opus-4-5",
  }),
  anEntry({
    state: "working",
    state_since: ago(3000),
    agent: "codex",
    repo: "日本語プロジェクト",
    cwd: "/home/me/src/日本語プロジェクト/packages/コア",
    model: "gpt-5.2-codex",
  }),
  anEntry({
    state: "idle",
    state_since: ago(7_500_000),
    error: "rate_limit",
    background: 1,
    name: "🚀 ship \x1b[2J\n",
    cwd: "/a/very/long/directory/that/does/not/fit/anywhere/on/a/narrow/terminal",
  }),
  anEntry({
    state: "ended",
    state_since: "",
    agent: "pi",
    session_id: "0192abcd-0000-7000-8000-000000000000",
  }),
];

const drawn = (width?: number) =>
  tableLines(entries, { now, shorten, paint: unpainted, ...(width && { width }) })
    .map((line) => `${line}|`)
    .join("\n");

test("a table that is not for a terminal cuts nothing", () => {
  expect(drawn()).toMatchInlineSnapshot(`
    "STATE                      SINCE   AGENT   SESSION              DIRECTORY                                                               MODEL|
    ! needs permission         12m     claude  release notes        ~/src/app                                                               claude-opus-4-5|
    ▸ working                  3s      codex   日本語プロジェクト   ~/src/日本語プロジェクト/packages/コア                                  gpt-5.2-codex|
    ✗ idle (rate_limit) +1 bg  2h 05m  claude  🚀 ship \\x1b[2J\\x0a  /a/very/long/directory/that/does/not/fit/anywhere/on/a/narrow/terminal|
    - ended                            pi      0192abcd|"
  `);
});

test("a wide terminal gives the spare room to the columns that need it", () => {
  expect(drawn(120)).toMatchInlineSnapshot(`
    "STATE                      SINCE   AGENT   SESSION              DIRECTORY                                 MODEL|
    ! needs permission         12m     claude  release notes        ~/src/app                                 claude-opus-4…|
    ▸ working                  3s      codex   日本語プロジェクト   ~/src/日本語プロジェクト/packages/コア    gpt-5.2-codex|
    ✗ idle (rate_limit) +1 bg  2h 05m  claude  🚀 ship \\x1b[2J\\x0a  …s/not/fit/anywhere/on/a/narrow/terminal|
    - ended                            pi      0192abcd|"
  `);
});

test("in 80 cells a path keeps its end and everything else its start", () => {
  expect(drawn(80)).toMatchInlineSnapshot(`
    "STATE                      SINCE   AGENT   SESSION          DIRECTORY   MODEL|
    ! needs permission         12m     claude  release notes    ~/src/app   claude-…|
    ▸ working                  3s      codex   日本語プロジェ…  …ages/コア  gpt-5.2…|
    ✗ idle (rate_limit) +1 bg  2h 05m  claude  🚀 ship \\x1b[2…  …/terminal|
    - ended                            pi      0192abcd|"
  `);
});

test("in few cells model, directory and agent go before state, age and name", () => {
  expect(drawn(44)).toMatchInlineSnapshot(`
    "STATE                   SINCE   SESSION|
    ! needs permission      12m     release not…|
    ▸ working               3s      日本語プロ…|
    ✗ idle (rate_limit) +…  2h 05m  🚀 ship \\x1…|
    - ended                         0192abcd|"
  `);
});

test("in hardly any cells the lines are cut", () => {
  expect(drawn(12)).toMatchInlineSnapshot(`
    "STATE      …|
    ! needs per…|
    ▸ working  …|
    ✗ idle (rat…|
    - ended    …|"
  `);
});

test("no line is wider than the terminal, whatever its width and whatever the names", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 80 });
  const entry = fc
    .record({ name: text, cwd: text, model: text, state: fc.constantFrom(...states) })
    .map((fields) => anEntry(fields));
  fc.assert(
    fc.property(
      fc.array(entry, { maxLength: 5 }),
      fc.integer({ min: 1, max: 200 }),
      (rows, width) => {
        const lines = tableLines(rows, { now, shorten, paint: unpainted, width });
        expect(lines.filter((line) => widthOf(line) > width)).toEqual([]);
        expect(lines).toHaveLength(rows.length + 1);
      },
    ),
  );
});

test("waiting rows stand out, ended ones recede, and of the others only the state is coloured", () => {
  const lines = tableLines(entries, { now, shorten, paint: painted, width: 60 });
  expect(lines.map((line) => line.replaceAll("\x1b", "^"))).toMatchInlineSnapshot(`
    [
      "^[2mSTATE               SINCE   AGENT   SESSION       DIRECTORY^[0m",
      "^[1;33m! needs permission  12m     claude  release not…  ~/src/app^[0m",
      "^[32m▸ working^[0m           3s      codex   日本語プロ…   …ages/コア",
      "^[31m✗ idle (rate_limi…^[0m  2h 05m  claude  🚀 ship \\x1…  …/terminal",
      "^[2m- ended                     pi      0192abcd^[0m",
    ]
  `);
});

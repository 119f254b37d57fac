import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Collector } from "../../../test/harness/collector.ts";
import { S1, S2 } from "../../../test/harness/sightings.ts";
import { claudeTranscripts } from "./claude-transcripts.ts";

let dir: string;
let projects: string;
let running: Collector | undefined;

beforeEach(() => {
  dir = mkdtempSync(path.join(os.tmpdir(), "omni-dev-transcripts-"));
  projects = path.join(dir, "projects");
});
afterEach(async () => {
  await running?.stop();
  rmSync(dir, { recursive: true, force: true });
});

const start = (): Collector => {
  running = new Collector(claudeTranscripts({ projectsDirs: [projects] }));
  return running;
};
const fileOf = (id: string, folder = "-w-app") => path.join(projects, folder, `${id}.jsonl`);
const write = (id: string, { folder = "-w-app", ageMs = 0 } = {}) => {
  mkdirSync(path.join(projects, folder), { recursive: true });
  writeFileSync(fileOf(id, folder), "{}\n");
  const at = (Date.now() - ageMs) / 1000;
  if (ageMs) utimesSync(fileOf(id, folder), at, at);
};
const seen = (feed: Collector) =>
  feed.reports.map(
    (report) =>
      report.kind === "sighting" && `${report.sighting.event} ${report.sighting.session_id[0]}`,
  );
const growths = (n: number) => (reports: Collector["reports"]) =>
  reports.filter((r) => r.kind === "sighting" && r.sighting.event === "transcript_grew").length >=
  n;

test("recent transcripts are announced with their path and no folder, old ones are not", async () => {
  write(S1, { ageMs: 200_000 });
  write(S2, { ageMs: 301_000 });
  const feed = start();
  await feed.ready;
  expect(feed.reports).toMatchObject([
    {
      kind: "sighting",
      sighting: { session_id: S1, event: "transcript_discovered", transcript_path: fileOf(S1) },
    },
  ]);
  expect(feed.reports[0]).not.toHaveProperty("sighting.cwd");
});

test("growth is told, of an old transcript too; a shrinking file is taken as it is", async () => {
  write(S1, { ageMs: 400_000 });
  const feed = start();
  await feed.ready;
  appendFileSync(fileOf(S1), "{}\n");
  await feed.until("growth", growths(1));
  truncateSync(fileOf(S1), 1);
  appendFileSync(fileOf(S1), "{}\n");
  await feed.until("growth after shrinking", () => {
    appendFileSync(fileOf(S1), "{}\n");
    return growths(2)(feed.reports);
  });
});

test("a projects folder that comes later, and one that is made anew, are noticed", async () => {
  const feed = start();
  await feed.ready;
  write(S1);
  await feed.until("first", (r) => r.length === 1);
  rmSync(projects, { recursive: true });
  write(S2);
  await feed.until("second", () => seen(feed).includes("transcript_grew 2"));
});

test("subagents' files and files of other names are not looked at", async () => {
  write(S1);
  mkdirSync(path.join(projects, "-w-app", S1, "subagents"), { recursive: true });
  writeFileSync(path.join(projects, "-w-app", S1, "subagents", `${S2}.jsonl`), "{}\n");
  writeFileSync(path.join(projects, "-w-app", "agent-abc.jsonl"), "{}\n");
  writeFileSync(path.join(projects, `${S2}.jsonl`), "{}\n");
  const feed = start();
  await feed.ready;
  expect(seen(feed)).toEqual(["transcript_discovered 1"]);
});

test("an unreadable folder is a problem in words and hides nobody else", async () => {
  mkdirSync(projects, { recursive: true });
  symlinkSync("-loop", path.join(projects, "-loop"));
  write(S1);
  const feed = start();
  await feed.ready;
  expect(seen(feed)).toEqual(["transcript_discovered 1"]);
  expect(feed.problem).toContain("-loop");
  rmSync(path.join(projects, "-loop"));
  await feed.until("no problem", () => feed.problem === undefined);
});

test("B12: growth of which no event tells is found at the next look around", async () => {
  write(S1);
  const elsewhere = path.join(dir, "elsewhere.jsonl");
  writeFileSync(elsewhere, "{}\n");
  symlinkSync(elsewhere, fileOf(S2));
  const feed = start();
  await feed.ready;
  expect(seen(feed).sort()).toEqual(["transcript_discovered 1", "transcript_discovered 2"]);
  appendFileSync(elsewhere, "{}\n");
  await feed.until("growth", () => seen(feed).includes("transcript_grew 2"));
});

test("20,000 old files are looked at without a word", async () => {
  for (let folder = 0; folder < 40; folder++) {
    mkdirSync(path.join(projects, `-p${folder}`), { recursive: true });
    for (let i = 0; i < 500; i++) {
      const id = `${String(folder * 500 + i).padStart(8, "0")}-1111-4111-8111-111111111111`;
      write(id, { folder: `-p${folder}`, ageMs: 1_000_000 });
    }
  }
  const feed = start();
  await feed.ready;
  expect(feed.reports).toEqual([]);
  appendFileSync(fileOf("00010000-1111-4111-8111-111111111111", "-p20"), "{}\n");
  await feed.until("growth", growths(1));
});

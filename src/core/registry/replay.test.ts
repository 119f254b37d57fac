import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { parseRecord, reportOf } from "../agents/claude/record.ts";
import { parseTime } from "../protocol/time.ts";
import { Sessions } from "./sessions.ts";

// Every version of the process records that real Claude Code wrote, in order; docs/agents/claude.md
// says how they were made. What the table shows after each is in the `.expected.txt` beside it.
const fixtures = new URL("../../../test/fixtures/claude/", import.meta.url).pathname;

type Version = {
  ts: number;
  file: string;
  content?: { pid: number; procStart: string };
  removed?: true;
};

for (const folder of ["registry", "stream-registry"]) {
  const files = readdirSync(path.join(fixtures, folder)).filter((name) => name.endsWith(".ndjson"));
  for (const file of files) {
    const scenario = file.replace(".ndjson", "");
    test(`${folder}/${scenario}: the table after each version of the records`, async () => {
      const text = readFileSync(path.join(fixtures, folder, file), "utf8");
      const versions: Version[] = text
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      const expected = path.join(fixtures, folder, `${scenario}.expected.txt`);
      await expect(replay(versions).join("\n")).toMatchFileSnapshot(expected);
    });
  }
}

/** A process is there from its first record until 0.75 s after its record went, as the captures show. */
const LINGERS_MS = 750;

function replay(versions: Version[]): string[] {
  const sessions = new Sessions();
  const start = versions[0]?.ts ?? 0;
  const alive = new Map<number, { token: string; until: number }>();
  const lines: string[] = [];
  let now = start;

  const look = () => {
    const checks = sessions.pids().map((pid) => {
      const process = alive.get(pid);
      return [pid, process && process.until > now ? process.token : "gone"] as const;
    });
    sessions.look(new Map(checks), now);
  };
  const show = (what: string) => {
    const rows = sessions.list(now).map((entry) => {
      const since = (parseTime(entry.state_since) ?? 0) - start;
      const extra = [entry.name, entry.background && `background ${entry.background}`];
      return [entry.session_id.slice(0, 4), entry.state, `since ${since}`, ...extra]
        .filter(Boolean)
        .join(" ");
    });
    lines.push(`${now - start} ${what}: ${rows.join(", ") || "-"}`);
  };

  for (const { ts, content, file, removed } of versions) {
    for (; now + 1000 < ts; now += 1000) look();
    now = ts;
    const pid = Number(path.basename(file, ".json"));
    if (removed) {
      const process = alive.get(pid);
      if (process) process.until = now + LINGERS_MS;
      sessions.recordGone(pid, "removed", now);
      show(`${pid} removed`);
    } else if (content) {
      alive.set(pid, { token: content.procStart, until: Number.POSITIVE_INFINITY });
      const record = parseRecord(JSON.stringify(content));
      const report = record && reportOf(record, content.procStart, undefined);
      if (report) sessions.record(report, now);
      show(`${pid} ${record?.status ?? "without a status"}`);
    }
  }
  for (const end = now + 10_000; now < end; ) {
    now = Math.min(now + 1000, end);
    look();
  }
  show("10 s later");
  return lines;
}

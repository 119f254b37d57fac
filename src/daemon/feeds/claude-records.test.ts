import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Collector } from "../../../test/harness/collector.ts";
import { S1, S2 } from "../../../test/harness/sightings.ts";
import { systemProcessTable } from "../../platform/process-table.ts";
import { claudeRecords } from "./claude-records.ts";

const table = systemProcessTable();
let dir: string;
let agent: ChildProcess;
let pid: number;
let procStart: string;
let running: Collector | undefined;

beforeEach(async () => {
  dir = mkdtempSync(path.join(os.tmpdir(), "omni-dev-records-"));
  agent = spawn("sleep", ["600"]);
  await once(agent, "spawn");
  pid = agent.pid ?? 0;
  procStart = (await table.check([pid])).get(pid) ?? "";
});
afterEach(async () => {
  await running?.stop();
  agent.kill("SIGKILL");
  rmSync(dir, { recursive: true, force: true });
});

const start = (): Collector => {
  const options = {
    configDirs: [path.join(dir, ".claude")],
    projectsDirs: [path.join(dir, ".claude", "projects")],
    table,
  };
  running = new Collector(claudeRecords(options));
  return running;
};
const sessions = () => path.join(dir, ".claude", "sessions");
const record = (fields: object = {}) =>
  JSON.stringify({
    pid,
    sessionId: S1,
    procStart,
    cwd: "/w/app",
    entrypoint: "cli",
    kind: "interactive",
    startedAt: 5,
    status: "idle",
    statusUpdatedAt: 10,
    ...fields,
  });
const write = (text: string, name = `${pid}.json`) => {
  mkdirSync(sessions(), { recursive: true });
  writeFileSync(path.join(sessions(), name), text);
};

const wordOf = (word: string) => (reports: Collector["reports"]) =>
  reports.find((report) => report.kind === "record" && report.record.word === word);

test("a record that is there at the start is reported before the first look is over", async () => {
  write(record());
  const feed = start();
  await feed.ready;
  expect(feed.reports).toEqual([
    {
      kind: "record",
      record: {
        agent: "claude",
        pid,
        startToken: procStart,
        sessionId: S1,
        word: "idle",
        state: "idle",
        statusAt: 10,
        startedAt: 5,
        headless: false,
        interactive: true,
        cwd: "/w/app",
      },
    },
  ]);
});

test("folders that do not exist yet are noticed when they come, and each new version too", async () => {
  const feed = start();
  await feed.ready;
  write(record({ status: undefined }));
  write(record());
  await feed.until("idle record", wordOf("idle"));
  write(record({ status: "busy", statusUpdatedAt: 20 }));
  await feed.until("busy record", wordOf("busy"));
});

test("a torn file changes nothing, and is read again when it is whole", async () => {
  write(record());
  const feed = start();
  await feed.ready;
  write(record().slice(0, 40));
  write(record({ status: "waiting", waitingFor: "permission prompt", statusUpdatedAt: 20 }));
  await feed.until("waiting record", wordOf("waiting"));
  expect(feed.reports.filter((report) => report.kind !== "record")).toEqual([]);
});

test("a removed record is told, as is one whose whole folder went", async () => {
  write(record());
  const feed = start();
  await feed.ready;
  rmSync(path.join(sessions(), `${pid}.json`));
  await feed.until("removal", (r) =>
    r.some((x) => x.kind === "record_gone" && x.how === "removed"),
  );

  write(record({ statusUpdatedAt: 30 }));
  await feed.until("record", (r) => r.filter((x) => x.kind === "record").length === 2);
  renameSync(sessions(), path.join(dir, "moved"));
  await feed.until("loss", (r) => r.some((x) => x.kind === "record_gone" && x.how === "lost"));

  write(record({ sessionId: S2, statusUpdatedAt: 40 }));
  await feed.until("record", (r) =>
    r.some((x) => x.kind === "record" && x.record.sessionId === S2),
  );
});

test("B2: a record whose process is gone, or has another start time, is stale", async () => {
  write(record({ procStart: "1" }));
  write(record({ pid: 2 ** 22 + 1, sessionId: S2 }), `${2 ** 22 + 1}.json`);
  const feed = start();
  await feed.ready;
  expect(feed.reports.map((report) => report.kind)).toEqual(["record_stale", "record_stale"]);
});

test("another container's record, a key, a stranger's file and a name that lies say nothing", async () => {
  write(record({ pidDomain: "linux:abc:pid:[1]" }));
  write("secret", `${pid}.abcdef.key`);
  write(record(), "notes.json");
  write(record(), `${pid + 1}.json`);
  const feed = start();
  await feed.ready;
  expect(feed.reports).toEqual([]);
});

test("what is no plain file is left alone", async () => {
  write(record(), "notes.json");
  execFileSync("mkfifo", [path.join(sessions(), "4.json")]);
  symlinkSync("/dev/zero", path.join(sessions(), "5.json"));
  write(record());
  const feed = start();
  await feed.ready;
  expect(feed.reports).toMatchObject([{ kind: "record", record: { pid } }]);
});

test("B9: SDK runs are marked, an editor's session is not; it counts as prompted by its transcript", async () => {
  const projects = path.join(dir, ".claude", "projects", "-w-app");
  mkdirSync(projects, { recursive: true });
  writeFileSync(path.join(projects, `${S1}.jsonl`), "{}\n");
  write(record({ entrypoint: "claude-vscode" }));
  const feed = start();
  await feed.ready;
  write(record({ entrypoint: "sdk-ts", status: "busy" }));
  await feed.until("busy record", wordOf("busy"));
  const told = feed.reports.map((report) => report.kind === "record" && report.record);
  expect(told).toMatchObject([
    { headless: false, interactive: false, transcriptPath: path.join(projects, `${S1}.jsonl`) },
    { headless: true },
  ]);
});

test("a folder that cannot be read is a problem in words, and no end of anything", async () => {
  write(record());
  const feed = start();
  await feed.ready;
  rmSync(sessions(), { recursive: true });
  await feed.until("loss", (r) => r.some((x) => x.kind === "record_gone"));
  // Even root cannot list a folder that is a link to itself.
  symlinkSync("sessions", sessions());
  await feed.until("problem", () => feed.problem);
  expect(feed.problem).toContain("ELOOP");
  chmodSync(dir, 0o700);
});

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Sender } from "../hook/launcher.ts";
import { currentHost } from "../platform/paths.ts";
import { findSender, sendersOf } from "./probe.ts";

let folder: string;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "omni-dev-test-"));
});
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

const here = () => ({ ...currentHost(), tmpDir: folder });

/** A program in perl's place. */
function fake(script: string): Sender {
  const file = path.join(folder, `fake-${fs.readdirSync(folder).length}`);
  fs.writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { kind: "perl", path: file };
}

test("the first that works is chosen, perl before nc before Node", async () => {
  const senders = sendersOf(here(), { path: process.execPath, sink: "/no/such/file" });
  const { sender, attempts } = await findSender(senders, here());
  const hasPerl = fs.existsSync("/usr/bin/perl");
  const hasNc = fs.existsSync("/usr/bin/nc");
  expect(senders.map(({ kind }) => kind)).toEqual([
    ...senders.filter(({ kind }) => kind === "perl").map(() => "perl"),
    ...senders.filter(({ kind }) => kind === "nc").map(() => "nc"),
    "node",
  ]);
  expect(sender?.kind).toBe(hasPerl ? "perl" : hasNc ? "nc" : undefined);
  expect(attempts.at(-1)?.sender).toEqual(sender ?? senders.at(-1));
  expect(fs.readdirSync(folder)).toEqual([]);
});

test("what delivers nothing, fails, speaks, or does not end is passed over", async () => {
  const senders = [
    fake("cat >/dev/null"),
    fake("exit 1"),
    fake("exec sleep 1000"),
    { kind: "perl", path: "/no/such/perl" } as const,
  ];
  const { sender, attempts } = await findSender(senders, here());
  expect([sender, attempts.map(({ problem }) => problem)]).toEqual([
    undefined,
    [
      "did not deliver what it was given",
      "exits with status 1",
      "does not end",
      "did not deliver what it was given",
    ],
  ]);
  expect(fs.readdirSync(folder)).toHaveLength(3);
});

test("a sender that waits for ever for an answer is passed over", async () => {
  // Delivers as it should, but does not come back from a daemon that says nothing.
  const forward = `perl -e 'my $s; for (@ARGV) { $s = $_ if -S $_ } undef $/; $_ = <STDIN>; socket(S, 1, 1, 0); connect(S, pack($^O eq "linux" ? "Sa108" : "CCa104", $^O eq "linux" ? (1, $s) : (106, 1, $s))); syswrite S, "{}\\n$_"; shutdown S, 1; sysread S, $_, 9' -- "$@"`;
  const { sender, attempts } = await findSender([fake(forward)], here());
  expect([sender, attempts.map(({ problem }) => problem)]).toEqual([undefined, ["does not end"]]);
});

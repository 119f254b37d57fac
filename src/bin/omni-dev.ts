#!/usr/bin/env node
import { fileURLToPath } from "node:url";
import { main } from "../cli/program.ts";
import { systemClock } from "../platform/clock.ts";
import { currentHost } from "../platform/paths.ts";

const { argv, stdin, stdout, stderr } = process;
process.exitCode = await main(argv.slice(2), {
  host: currentHost(),
  clock: systemClock,
  stdin,
  stdout,
  stderr,
  entry: fileURLToPath(import.meta.url),
  startDaemon: async (options) => (await import("./start-daemon.ts")).startDaemon(options),
});

import { type Clock, systemClock, wait } from "../platform/clock.ts";
import { systemFileLocks } from "../platform/file-locks.ts";
import {
  claudeConfigDirs,
  claudeProjectsDirs,
  codexDirs,
  currentHost,
  type Host,
} from "../platform/paths.ts";
import { systemProcessTable } from "../platform/process-table.ts";
import { type RunningDaemon, startDaemon } from "./daemon.ts";
import { claudeRecords } from "./feeds/claude-records.ts";
import { claudeTranscripts } from "./feeds/claude-transcripts.ts";
import { codexAppServer } from "./feeds/codex-app-server.ts";
import { codexThreads } from "./feeds/codex-threads.ts";
import type { Log } from "./log.ts";
import { type SessionsService, startSessions } from "./services/sessions.ts";
import { resampleMs } from "./topic.ts";

/** A first look around that takes longer than this no longer holds up whoever waits for it. */
const FIRST_LOOK_MS = 5000;

export type RunOptions = {
  socketPath: string;
  isDefault: boolean;
  signal: AbortSignal;
  log: Log;
  clock?: Clock;
  host?: Host;
};

/**
 * Runs the daemon with everything that belongs to it. Resolves once it answers and its feeds have
 * looked around, so that a first `list` shows what was there already.
 *
 * @throws what `startDaemon` throws.
 */
export async function runDaemon(options: RunOptions): Promise<RunningDaemon> {
  const { clock = systemClock, host = currentHost(), ...rest } = options;
  const table = systemProcessTable(host.platform);
  const projectsDirs = claudeProjectsDirs(host);
  const feeds = [
    claudeRecords({ configDirs: claudeConfigDirs(host), projectsDirs, table }),
    claudeTranscripts({ projectsDirs }),
    codexThreads({ homes: codexDirs(host), locks: systemFileLocks(host.platform), table }),
    codexAppServer({ homes: codexDirs(host), uid: host.uid }),
  ];
  let sessions: SessionsService | undefined;
  const daemon = await startDaemon({
    ...rest,
    clock,
    host,
    resampleMs: resampleMs(host.env.OMNI_DEV_DAEMON_STREAM_TICK),
    services: (context) => {
      sessions = startSessions({ feeds, table }, context);
      return [sessions];
    },
  });
  const looked = new AbortController();
  const patience = AbortSignal.any([looked.signal, options.signal]);
  await Promise.race([sessions?.ready, wait(clock, FIRST_LOOK_MS, patience)]);
  looked.abort();
  return daemon;
}

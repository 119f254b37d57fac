import type { StartDaemon } from "../cli/world.ts";
import { runDaemon } from "../daemon/compose.ts";
import { fileLog, type Log } from "../daemon/log.ts";
import { systemClock } from "../platform/clock.ts";
import { logPath } from "../platform/paths.ts";

/** Starts a daemon in this process that writes the log beside its socket. */
export const startDaemon: StartDaemon = ({ echo, ...options }) => {
  const toFile = fileLog(logPath(options.socketPath), systemClock);
  const log: Log = (level, message) => {
    toFile(level, message);
    echo?.(`${level}: ${message}`);
  };
  return runDaemon({ ...options, log });
};

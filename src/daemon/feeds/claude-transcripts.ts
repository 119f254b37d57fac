import path from "node:path";
import { sessionOfTranscript } from "../../core/agents/claude/transcript.ts";
import { RECENT_FILE_MS } from "../../core/protocol/limits.ts";
import { GrowingFiles } from "../../platform/growing-files.ts";
import type { Feed, FeedPort } from "../feed.ts";

/**
 * Claude Code's transcripts, `<projects>/<folder>/<session>.jsonl`: that a session exists, and that
 * its file grew. No line is ever read, and nothing below those folders is looked at.
 */
export function claudeTranscripts(options: { projectsDirs: readonly string[] }): Feed {
  return { name: "claude-transcripts", run: (port) => follow(options.projectsDirs, port) };
}

function follow(roots: readonly string[], port: FeedPort): Promise<void> {
  const startedAt = port.clock.now();
  const isRecent = (at: number) => port.clock.now() - at <= RECENT_FILE_MS;
  const files = new GrowingFiles({
    roots,
    depth: 1,
    isWanted: (name) => sessionOfTranscript(name) !== undefined,
    isHot: ({ mtimeMs }) => isRecent(mtimeMs),
    onLook: (file, { size, mtimeMs }, before) => {
      const isNews = before ? size > before.size : isRecent(mtimeMs);
      const session_id = sessionOfTranscript(path.basename(file));
      if (!isNews || session_id === undefined || !isRecent(mtimeMs)) return;
      const isGrowth = before !== undefined || mtimeMs >= startedAt;
      const event = isGrowth ? "transcript_grew" : "transcript_discovered";
      const sighting = { session_id, event, transcript_path: file } as const;
      port.report({ kind: "sighting", sighting, at: mtimeMs });
    },
    onRound: (problem) => {
      port.health(problem);
      port.ready();
    },
  });
  return files.run(port.clock, port.signal);
}

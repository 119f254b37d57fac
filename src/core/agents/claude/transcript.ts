/** A folder name is cut here; a hash of the whole path follows, which only Claude can compute. */
const MAX_NAME = 200;

/**
 * The name of the folder under `projects` that holds the transcripts of sessions in `cwd`. Different
 * folders can share one name, so a cwd is never read back from it.
 * Source: docs/agents/claude.md#transcripts, seen in 2.1.332.
 *
 * @returns the name, and whether it is only the beginning of it.
 */
export function transcriptFolder(cwd: string): { name: string; isPrefix: boolean } {
  const name = cwd.replace(/[^A-Za-z0-9]/g, "-");
  return name.length > MAX_NAME
    ? { name: `${name.slice(0, MAX_NAME)}-`, isPrefix: true }
    : { name, isPrefix: false };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The session whose transcript a file directly inside such a folder is; `undefined` for others. */
export function sessionOfTranscript(fileName: string): string | undefined {
  if (!fileName.endsWith(".jsonl")) return undefined;
  const stem = fileName.slice(0, -".jsonl".length);
  return UUID.test(stem) ? stem : undefined;
}

/** The most bytes in one line of the wire, in either direction, without its line end. */
export const MAX_LINE_BYTES = 1024 * 1024;

/** Sessions held at once; at the cap the longest-silent one goes. */
export const MAX_SESSIONS = 512;

/** Sightings remembered for each session, so that its state can be explained. */
export const MAX_TRACE_LINES = 32;

/** Window reports held at once; at the cap the longest-silent one goes. */
export const MAX_WINDOWS = 256;

/** Folders one window may report: more than any workspace has, few enough to join quickly. */
export const MAX_FOLDERS = 256;

/** Replaced pids remembered for each session, so that a long-lived id cannot grow without end. */
export const MAX_REPLACED_PIDS = 8;

/** A session that nothing vouches for ages out after this silence. */
export const SESSION_TTL_MS = 300_000;

/** An ended session stays listed this long, so that a reader sees it end. */
export const ENDED_LINGER_MS = 10_000;

/** A window report is forgotten when it is not refreshed for this long. */
export const WINDOW_TTL_MS = 30_000;

/** A transcript or rollout written this recently counts as a running session's. */
export const RECENT_FILE_MS = 300_000;

/** How often the exact feeds that cannot hold a connection repeat themselves. */
export const HEARTBEAT_MS = 30_000;

import type { Entry, Source } from "../protocol/session.ts";
import { type EpochMs, formatTime } from "../protocol/time.ts";
import { decide } from "./evidence.ts";
import type { Session } from "./session.ts";

/** What a session looks like to a reader at `now`. */
export function entryOf(session: Session, now: EpochMs, source: Source): Entry {
  const { state, since } = stateNow(session, now);
  return {
    session_id: session.id,
    agent: session.agent,
    ...given("cwd", session.cwd),
    ...given("repo", session.repo),
    ...given("transcript_path", session.transcriptPath),
    ...given("model", session.model),
    state,
    source,
    last_event: session.lastEvent,
    started_at: formatTime(session.startedAt),
    last_seen: formatTime(session.lastSeen),
    state_since: formatTime(since),
    ...given("pid", session.owner),
    ...given("name", session.name),
    ...given("background", session.facts.background || undefined),
    ...given("error", session.facts.error),
    ...(session.headless ? { headless: true as const } : {}),
  };
}

/** The state, and since when it is so: a state that goes on keeps the time it began. */
export function stateNow(
  session: Session,
  now: EpochMs,
): { state: Session["state"]; since: EpochMs } {
  const { state, since } = decide(session, now);
  const goesOn = session.shown !== "" && state === session.state;
  return { state, since: goesOn ? Math.min(session.since, since) : since };
}

/** The part of an entry whose change readers are told of at once. */
export function visiblePart({ last_seen, last_event, ...rest }: Entry): string {
  return JSON.stringify(rest);
}

/** The order of `list`: by repository, those without one first, then by id. */
export function compareEntries(a: Entry, b: Entry): number {
  return compareText(a.repo ?? "", b.repo ?? "") || compareText(a.session_id, b.session_id);
}

const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

const given = <K extends string, V>(key: K, value: V | undefined) =>
  (value === undefined ? {} : { [key]: value }) as { [P in K]?: V };

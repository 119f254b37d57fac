import type { Explanation, Keeper, SourceView } from "../protocol/explanation.ts";
import type { Entry } from "../protocol/session.ts";
import { type EpochMs, formatTime } from "../protocol/time.ts";
import { claims, decide } from "./evidence.ts";
import { type CurrentSessions, dropAt, type Processes, vouchers } from "./liveness.ts";
import type { Session } from "./session.ts";

/** Says of one session what each source tells, which of them is believed, and what keeps its row. */
export function explain(
  session: Session,
  entry: Entry,
  now: EpochMs,
  { processes, current }: { processes: Processes; current: CurrentSessions },
): Omit<Explanation, "sightings"> {
  const { by } = decide(session, now);
  return {
    session: entry,
    decided_by: by,
    sources: [...claims(session, now)].map((claim): SourceView => {
      const loses = claim.by === by ? undefined : (claim.loses ?? whyOutranked(claim.state, by));
      return {
        source: claim.by,
        ...(claim.state === undefined ? {} : { says: claim.state }),
        since: formatTime(claim.since),
        ...(loses === undefined ? {} : { loses }),
      };
    }),
    kept_by: keepersOf(session, now, processes, current),
  };
}

const whyOutranked = (state: string | undefined, by: string) =>
  state === undefined ? "its word is not understood" : `${by} goes before it`;

function keepersOf(
  session: Session,
  now: EpochMs,
  processes: Processes,
  current: CurrentSessions,
): Keeper[] {
  const until = formatTime(dropAt(session));
  if (session.endedAt !== undefined) return [{ by: "linger", until }];
  const held = [...vouchers(session, now, processes, current)];
  return held.length > 0 ? held : [{ by: "ttl", until }];
}

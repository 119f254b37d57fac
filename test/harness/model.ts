import type { ProcessRecord } from "../../src/core/protocol/report.ts";
import type * as wire from "../../src/core/protocol/session.ts";
import { formatTime } from "../../src/core/protocol/time.ts";

/** One thing the engine can be told. */
export type Told =
  | { op: "observe"; sighting: wire.Sighting; at: number }
  | { op: "end"; ending: wire.Ending; at: number }
  | { op: "record"; record: ProcessRecord }
  | { op: "recordGone"; pid: number; how: "removed" | "lost" }
  | { op: "look"; checks: Map<number, string> }
  | { op: "window"; report: wire.WindowReport }
  | { op: "windowUnregister"; key: string };
export type Logged = Told & { now: number };

type State = wire.SessionState;
type Fields = Pick<wire.Entry, "cwd" | "repo" | "transcript_path" | "model" | "name">;
/** Who says it; or why it says nothing: it is for another to tell, or it does not count. */
type Kind = "end" | "stream" | "record" | "event" | "ask" | "hint" | "muted" | "ignored";
type Seen = {
  at: number;
  heardAt: number;
  kind: Kind;
  event?: wire.LastEvent;
  state?: State | undefined;
  pid?: number | undefined;
  fields?: { [K in keyof Fields]?: string | undefined };
  isActivity?: boolean;
  isPrompted?: boolean;
};
/** `pids`: the owner, then those that it replaced, the newest first. */
type Row = { id: string; agent: string; startedAt: number; seen: Seen[]; pids: number[] };

class World {
  rows = new Map<string, Row>();
  endedAt = new Map<string, number>();
  records = new Map<number, ProcessRecord>();
  alive = new Map<number, string>();
  windows = new Map<string, wire.WindowReport & { heardAt: number }>();
  lookedAt = Number.POSITIVE_INFINITY;
}

/** What is listed at `until`, found by going through all that was told, from the first to the last. */
export function listed(log: readonly Logged[], until: number) {
  const world = new World();
  for (const { now, ...told } of log) {
    age(world, now);
    if (told.op === "observe") observe(world, told.sighting, Math.min(told.at, now), now);
    if (told.op === "end") end(world, told.ending, Math.min(told.at, now));
    if (told.op === "record") record(world, told.record, Math.min(told.record.statusAt, now), now);
    if (told.op === "recordGone") recordGone(world, told.pid, told.how, now);
    if (told.op === "look") look(world, told.checks, now);
    if (told.op === "window") world.windows.set(told.report.key, { ...told.report, heardAt: now });
    if (told.op === "windowUnregister") world.windows.delete(told.key);
  }
  age(world, until);
  return [...world.rows.values()]
    .map((row) => entry(world, row, until))
    .sort((a, b) => order(a.repo ?? "", b.repo ?? "") || order(a.session_id, b.session_id));
}

const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
const last = <T>(list: T[]): T | undefined => list[list.length - 1];
const byTime = (seen: Seen[]) => [...seen].sort((a, b) => a.at - b.at);
const withPid = (pids: number[], pid: number) =>
  pids.includes(pid) ? pids : [pid, ...pids].slice(0, 9);
const newest = (seen: Seen[], isMeant: (seen: Seen) => boolean) =>
  Math.max(...seen.filter(isMeant).map(({ at }) => at));

/** The spec's state table; what is not in it changes no state. */
const meanings: Record<string, [Kind, State]> = {
  session_start: ["event", "starting"],
  user_prompt_submit: ["event", "working"],
  pre_tool_use: ["event", "working"],
  post_tool_use: ["event", "working"],
  stop: ["event", "idle"],
  permission_prompt: ["ask", "waiting_for_permission"],
  idle_prompt: ["ask", "waiting_for_input"],
  agent_needs_input: ["ask", "waiting_for_input"],
};

function meaning(event: wire.SessionEvent): [Kind, State?] {
  if (typeof event === "object" && "stream_state" in event)
    return [event.stream_state === "ended" ? "end" : "stream", event.stream_state];
  return meanings[typeof event === "object" ? event.notification : event] ?? ["hint"];
}

function observe(world: World, sighting: wire.Sighting, at: number, now: number): void {
  const { session_id: id, event, pid, agent = "claude" } = sighting;
  const [kind, state] = meaning(event);
  const over = world.endedAt.get(id) ?? Number.NEGATIVE_INFINITY;
  // A last write to the file, or a straggler from before the end, is no new session.
  const isLate = kind === "hint" ? at <= over + 10_000 : at < over;
  if (!world.rows.has(id) && (isLate || at <= now - 300_000)) return;
  const row = rowOf(world, id, agent, at);
  const isStale = isLate && isEnded(row);
  if (!isStale && pid !== undefined) row.pids = withPid(row.pids, pid);
  const counts = !isStale && (!pid || pid === row.pids[0] || world.alive.has(pid));
  // Asked, or written to the file, while an exact source lives: that is for the source to tell.
  const isMuted = /ask|hint/.test(kind) && !!(streamOf(row, now) ?? recordOf(world, row));
  const isBeat = kind === "stream" ? state === streamOf(row, now) : kind === "hint";
  const isActivity = counts && (!isBeat || event === "transcript_grew" || row.seen.length === 0);
  if (counts && isMuted && kind === "ask") revive(row, at, "idle");
  const seen = { at, heardAt: now, event, state, pid, fields: sighting, isActivity };
  row.seen.push({ ...seen, kind: !counts ? "ignored" : isMuted ? "muted" : kind });
  if (counts && kind === "end") world.endedAt.set(id, at);
}

function end(world: World, { session_id: id, pid }: wire.Ending, at: number): void {
  const row = world.rows.get(id);
  // Nobody decided this: a stranger's end does not count against a process that names the session.
  if (row && (isEnded(row) || pidsOf(world, row).some((held) => held !== (pid ?? held)))) return;
  if (row && pid !== undefined && row.pids.slice(1).includes(pid)) return;
  world.endedAt.set(id, Math.max(at, world.endedAt.get(id) ?? at));
  const kind = at < (last(row ? said(row) : [])?.at ?? at) ? "ignored" : "end";
  row?.seen.push({ at, heardAt: at, kind, event: "session_end", state: "ended" });
}

function rowOf(world: World, id: string, agent: string, startedAt: number): Row {
  const row = world.rows.get(id) ?? { id, agent, startedAt, seen: [], pids: [] };
  if (world.rows.has(id)) return row;
  world.rows.set(id, row);
  // What processes that name it have said before is still so, though nothing new was seen.
  for (const { pid, statusAt: at, state, cwd, name, transcriptPath, word } of recordsOf(
    world,
    row,
  )) {
    row.pids = withPid(row.pids, pid);
    const fields = { cwd, name, transcript_path: transcriptPath };
    const isPrompted = (!!state && word !== "idle") || !!transcriptPath;
    row.seen.push({ at, heardAt: at, kind: "record", state, pid, fields, isPrompted });
  }
  return row;
}

function record(world: World, told: ProcessRecord, at: number, now: number): void {
  const { pid, sessionId: id, word, cwd, name, transcriptPath: transcript_path } = told;
  const before = world.records.get(pid);
  const isSame = before?.sessionId === id;
  if (!isSame) world.records.delete(pid);
  // The process is in this session, and no more in those that tell of nothing newer.
  for (const row of world.rows.values()) {
    if (row.id === id || (row.id !== before?.sessionId && activeAt(row) >= at)) continue;
    if (activeAt(row) < at) row.pids = row.pids.filter((held, i) => i === 0 || held !== pid);
    leave(world, row, pid, now);
  }
  const row = rowOf(world, id, told.agent, Math.min(told.startedAt, now));
  // A word that nobody knows changes nothing.
  const { state, statusAt } = isSame && !told.state ? before : { state: told.state, statusAt: at };
  world.records.set(pid, { ...told, ...(state ? { state } : {}), statusAt });
  world.alive.set(pid, told.startToken);
  row.pids = withPid(row.pids, pid);
  const isActivity = !isSame || before.statusAt !== at || before.word !== word;
  const isStale = isEnded(row) && at <= (world.endedAt.get(id) ?? at);
  const says = told.state ?? (isEnded(row) ? "idle" : undefined);
  const fields = { cwd, name, transcript_path };
  const seen = { at, heardAt: now, event: { process_record: word }, state: says, pid, fields };
  row.seen.push({ ...seen, kind: isStale ? "ignored" : "record", isActivity });
}

function recordGone(world: World, pid: number, how: "removed" | "lost", now: number): void {
  const row = world.rows.get(world.records.get(pid)?.sessionId ?? "");
  world.records.delete(pid);
  if (!row || how === "lost" || isEnded(row) || row.pids[0] !== pid) return;
  if (streamsFrom(row, now, pid) || holders(world, row).some((holder) => holder !== pid)) return;
  world.endedAt.set(row.id, now);
  row.seen.push({ at: now, heardAt: now, kind: "end", state: "ended" });
}

/** A pid that was seen alive and now is gone or another process is dead, and with it its sources. */
function look(world: World, checks: Map<number, string>, now: number): void {
  world.lookedAt = now;
  const rows = [...world.rows.values()];
  const isDead = ([pid, check]: [number, string]) => check !== (world.alive.get(pid) ?? check);
  const dead = [...checks].filter(isDead).map(([pid]) => pid);
  for (const [pid, check] of checks) if (check !== "gone") world.alive.set(pid, check);
  for (const known of [world.alive, world.records]) for (const pid of dead) known.delete(pid);
  for (const seen of rows.flatMap((row) => row.seen))
    if (dead.includes(seen.pid ?? 0)) seen.heardAt = Number.NEGATIVE_INFINITY;
  for (const row of rows) for (const pid of dead) leave(world, row, pid, now);
  const named = rows.flatMap((row) => (isEnded(row) ? [] : row.pids));
  named.push(...world.records.keys());
  for (const pid of world.alive.keys()) if (!named.includes(pid)) world.alive.delete(pid);
  reap(world, now);
}

/** Where the owner left, the session passes to another process that holds it, or goes at once. */
function leave(world: World, row: Row, pid: number, now: number): void {
  if (row.pids[0] !== pid) return;
  const [next] = holders(world, row).filter((holder) => holder !== pid);
  if (next !== undefined) row.pids = [next, ...row.pids.filter((p) => p !== next)].slice(0, 9);
  else if (!isEnded(row) && !streamsFrom(row, now, pid) && world.rows.delete(row.id))
    world.endedAt.set(row.id, now);
}

const holders = (world: World, row: Row) =>
  pidsOf(world, row).concat(row.pids.filter((pid) => world.alive.has(pid)));
const streamsFrom = (row: Row, now: number, pid: number) =>
  !!streamOf(row, now) && (row.seen.findLast(isStream)?.pid ?? row.pids[0]) !== pid;
const isStream = (seen: Seen) => seen.kind === "stream";
const recordsOf = (world: World, { id }: Row) =>
  [...world.records.values()].filter((known) => known.sessionId === id);
const pidsOf = (world: World, row: Row) => recordsOf(world, row).map((known) => known.pid);
/** The record that moved last, of those whose word is known. */
const recordOf = (world: World, row: Row) =>
  last(
    recordsOf(world, row)
      .filter((r) => r.state)
      .sort((a, b) => a.statusAt - b.statusAt),
  );

/** Lets time pass, from one moment at which something is due to the next. */
function age(world: World, now: number): void {
  const due = (row: Row) => [lastSeen(row) + 300_000, (last(said(row))?.at ?? now) + 10_000];
  const times = [...world.rows.values()].flatMap(due).filter((at) => at < now);
  for (const at of [...times.sort((a, b) => a - b), now]) reap(world, at);
}

function reap(world: World, now: number): void {
  const rows = [...world.rows.values()];
  for (const row of rows) {
    const over = last(said(row))?.at ?? now;
    // A process that still names a session some time after its end shows that it is not over.
    if (now >= over + 10_000 && recordsOf(world, row).length > 0)
      revive(row, over, recordOf(world, row)?.state ?? "idle");
  }
  const gone = rows.filter((row) => !isListed(world, row, now));
  for (const row of gone) world.rows.delete(row.id);
}

function isListed(world: World, row: Row, now: number): boolean {
  if (isEnded(row)) return now < (last(said(row))?.at ?? now) + 10_000;
  // After a sleep the next look comes first.
  if (Math.min(now, world.lookedAt + 60_000) < lastSeen(row) + 300_000) return true;
  const isReal = row.seen.some((seen) => seen.isPrompted || (seen.event && isPrompt(seen)));
  if (streamOf(row, now) || recordsOf(world, row).some((r) => r.interactive || isReal)) return true;
  const [owner] = row.pids;
  return isReal && owner !== undefined && world.alive.has(owner) && isCurrent(world, owner, row);
}

/** Whether a live process is in this session: the most recently active of those that it owns. */
function isCurrent(world: World, pid: number, row: Row): boolean {
  const owned = [...world.rows.values()].filter((own) => own.pids[0] === pid && !isEnded(own));
  return (owned.sort((a, b) => activeAt(b) - activeAt(a) || order(b.id, a.id))[0] ?? row) === row;
}

const activeAt = (row: Row) => newest(row.seen, (seen) => seen.isActivity === true);
const lastSeen = (row: Row) => newest(row.seen, ({ event }) => event !== undefined);
const said = (row: Row) =>
  byTime(row.seen.filter(({ kind, state }) => state && kind !== "muted" && kind !== "ignored"));
const isEnded = (row: Row) => last(said(row))?.kind === "end";
const revive = (row: Row, at: number, state: State) =>
  isEnded(row) && row.seen.push({ at, heardAt: at, kind: "record", state });
/** A start says no more than that the session rests. */
/** What was said, without events that were older than what was known when they came. */
function inOrder(row: Row): Seen[] {
  const words = said(row);
  const all = row.seen.filter((seen) => words.includes(seen));
  const isLate = (i: number, at: number) => all.slice(0, i).some((known) => known.at > at);
  return all.filter(({ kind, at }, i) => kind !== "event" || !isLate(i, at));
}

const resting = (state?: State) => (state === "starting" ? "idle" : state);
const isRecord = (event?: wire.LastEvent) => typeof event === "object" && "process_record" in event;

function isPrompt({ kind, event = "stop", state, fields }: Seen): unknown {
  if (isRecord(event)) return (state && event.process_record !== "idle") || fields?.transcript_path;
  if (kind === "stream") return state !== "starting" && state !== "idle";
  return kind !== "ignored" && (typeof event === "object" ? !!state : !/^s(ess|top)/.test(event));
}

/** What the stream that was heard last says, while it lives: for 75 s. */
function streamOf(row: Row, now: number): State | undefined {
  const over = row.seen.findLastIndex(({ kind }) => kind === "end");
  const spoken = row.seen.slice(over + 1).filter(isStream);
  return now < (last(spoken)?.heardAt ?? now) + 75_000 ? last(byTime(spoken))?.state : undefined;
}

function stateOf(world: World, row: Row, now: number): State {
  const { state = "idle" } = last(said(row)) ?? {};
  const exact = state === "ended" ? state : streamOf(row, now);
  if (exact) return exact;
  const record = recordOf(world, row);
  if (record?.state) return isContradicted(row, record, now) ? state : record.state;
  const isExact = ({ kind, state }: Seen) => state && (kind === "stream" || kind === "record");
  const isGrowth = ({ kind, event }: Seen) => kind === "hint" && event === "transcript_grew";
  const grewAt = newest(row.seen.slice(row.seen.findLastIndex(isExact) + 1), isGrowth);
  const isNoEcho = grewAt > newest(row.seen, ({ kind }) => /event|ask/.test(kind)) + 10_000;
  return isNoEcho && now < grewAt + 15_000 && state === "idle" ? "working" : state;
}

/** Whether events have told otherwise for 30 s; then the record has lost until it moves. */
function isContradicted(row: Row, { pid, state, statusAt }: ProcessRecord, now: number): boolean {
  const isPast = (old: Seen) => old.kind === "record" && old.pid === pid;
  const told = byTime(inOrder(row));
  let since = Number.POSITIVE_INFINITY;
  for (const event of told.slice(told.findLastIndex(isPast) + 1)) {
    if (event.kind !== "event" || event.at < statusAt) continue;
    if (event.at >= since + 30_000) return true;
    const agrees = resting(event.state) === resting(state);
    since = agrees ? Number.POSITIVE_INFINITY : Math.min(since, event.at);
  }
  return now >= since + 30_000;
}

/** Each field as it was last told; late evidence fills only what is not known. */
function fieldsOf(row: Row): Fields {
  const fields: Fields = {};
  for (const [i, { at, event, fields: told }] of row.seen.entries())
    for (const name of ["cwd", "repo", "transcript_path", "model", "name"] as const) {
      const isLate = !isRecord(event) && row.seen.slice(0, i).some((o) => o.event && o.at > at);
      if (told?.[name] && !(isLate && fields[name])) fields[name] = told[name];
    }
  return fields;
}

function entry(world: World, row: Row, now: number) {
  const fields = fieldsOf(row);
  const isIn = (folder: string) => `${fields.cwd}/`.startsWith(folder.replace(/\/*$/, "/"));
  const [key] = [...world.windows.values()]
    .filter(({ heardAt, tabs, terminals }) => now < heardAt + 30_000 && tabs + terminals > 0)
    .flatMap((window) => (fields.cwd && window.folders.some(isIn) ? window.key : []))
    .sort();
  return {
    session_id: row.id,
    agent: row.agent,
    ...fields,
    state: stateOf(world, row, now),
    source: key === undefined ? { kind: "terminal" } : { kind: "vs_code", window_key: key },
    last_event: last(byTime(row.seen.filter((seen) => seen.event)))?.event ?? "session_end",
    started_at: formatTime(row.startedAt),
    last_seen: formatTime(lastSeen(row)),
    ...(row.pids[0] === undefined ? {} : { pid: row.pids[0] }),
  };
}

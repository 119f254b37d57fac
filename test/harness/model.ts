import type { ProcessRecord } from "../../src/core/protocol/report.ts";
import type {
  Ending,
  Entry,
  LastEvent,
  SessionEvent,
  SessionState,
  Sighting,
  WindowReport,
} from "../../src/core/protocol/session.ts";
import { formatTime } from "../../src/core/protocol/time.ts";

/** One thing the engine can be told. */
export type Told =
  | { op: "observe"; sighting: Sighting; at?: number }
  | { op: "end"; ending: Ending; at?: number }
  | { op: "record"; record: ProcessRecord }
  | { op: "recordGone"; pid: number; how: "removed" | "lost" }
  | { op: "look"; checks: Record<number, string> }
  | { op: "window"; report: WindowReport }
  | { op: "windowUnregister"; key: string };
export type Logged = Told & { now: number };

type Seen = { at: number; event: LastEvent; rank: Rank; state?: SessionState; pid?: number };
type Rank = "exact" | "record" | "event" | "asked" | "hint" | "ignored";
type Fields = Pick<Entry, "cwd" | "repo" | "transcript_path" | "model" | "name">;
type Row = {
  id: string;
  agent: string;
  startedAt: number;
  seen: Seen[];
  fields: Fields;
  owner?: number;
  replaced: number[];
};
type World = {
  rows: Map<string, Row>;
  endedAt: Map<string, number>;
  records: Map<number, ProcessRecord>;
  alive: Map<number, string>;
  windows: Map<string, { report: WindowReport; heardAt: number }>;
  lookedAt: number;
};

/** What is listed at `now`, found by going through all that was told, from the first to the last. */
export function listed(log: readonly Logged[], now: number): Omit<Entry, "state_since">[] {
  const world: World = {
    rows: new Map(),
    endedAt: new Map(),
    records: new Map(),
    alive: new Map(),
    windows: new Map(),
    lookedAt: Number.POSITIVE_INFINITY,
  };
  for (const told of log) {
    age(world, told.now);
    take(world, told);
  }
  age(world, now);
  return [...world.rows.values()]
    .map((row) => entry(world, row, now))
    .sort((a, b) => order(a.repo ?? "", b.repo ?? "") || order(a.session_id, b.session_id));
}

const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

function take(world: World, told: Logged): void {
  const { now } = told;
  switch (told.op) {
    case "observe":
      return observe(world, told.sighting, Math.min(told.at ?? now, now), now);
    case "end": {
      const { session_id, pid } = told.ending;
      const row = world.rows.get(session_id);
      if (row && pid !== undefined && row.replaced.includes(pid)) return;
      if (row && holders(world, row, now).some((holder) => holder !== (pid ?? row.owner))) return;
      return end(world, session_id, Math.min(told.at ?? now, now), pid);
    }
    case "record":
      return record(world, told.record, now);
    case "recordGone": {
      const gone = world.records.get(told.pid);
      world.records.delete(told.pid);
      const row = gone && world.rows.get(gone.sessionId);
      if (row && told.how === "removed" && !holders(world, row, now).some((p) => p !== told.pid))
        end(world, row.id, now, told.pid);
      return;
    }
    case "look":
      world.lookedAt = now;
      return look(world, told.checks, now);
    case "window":
      world.windows.set(told.report.key, { report: told.report, heardAt: now });
      return;
    case "windowUnregister":
      world.windows.delete(told.key);
      return;
  }
}

// Sightings and ends

function observe(world: World, sighting: Sighting, at: number, now: number): void {
  const { session_id: id, event, pid } = sighting;
  const { rank, state } = meaning(event);
  const over = world.endedAt.get(id) ?? Number.NEGATIVE_INFINITY;
  const held = world.rows.get(id);
  if (!held || isEnded(held)) {
    // A last write to the file or a straggler from before the end is no new session.
    if (rank === "hint" ? at <= over + 10_000 || at < now - 300_000 : at < over) return;
  }
  const row = held ?? newRow(world, id, sighting.agent ?? "claude", at);
  const straggler = pid !== undefined && row.replaced.includes(pid) && !world.alive.has(pid);
  if (pid !== undefined && !straggler) takeOver(row, pid);
  fill(row, sighting);
  const ranked = straggler ? "ignored" : rank;
  row.seen.push({ at, event, rank: ranked, ...some("state", state), ...some("pid", pid) });
}

/** The spec's state table. */
function meaning(event: SessionEvent): { rank: Rank; state?: SessionState } {
  if (typeof event === "object" && "stream_state" in event)
    return { rank: "exact", state: event.stream_state };
  switch (typeof event === "object" ? event.notification : event) {
    case "session_start":
      return { rank: "event", state: "starting" };
    case "user_prompt_submit":
    case "pre_tool_use":
    case "post_tool_use":
      return { rank: "event", state: "working" };
    case "stop":
      return { rank: "event", state: "idle" };
    case "permission_prompt":
      return { rank: "asked", state: "waiting_for_permission" };
    case "idle_prompt":
    case "agent_needs_input":
      return { rank: "asked", state: "waiting_for_input" };
    default:
      return { rank: "hint" };
  }
}

function end(world: World, id: string, at: number, pid?: number): void {
  world.endedAt.set(id, Math.max(at, world.endedAt.get(id) ?? at));
  const ended = { at, event: "session_end", rank: "event", state: "ended" } as const;
  world.rows.get(id)?.seen.push({ ...ended, ...some("pid", pid) });
}

function newRow(world: World, id: string, agent: string, startedAt: number): Row {
  const row: Row = { id, agent, startedAt, seen: [], fields: {}, replaced: [] };
  world.rows.set(id, row);
  return row;
}

function takeOver(row: Row, pid: number): void {
  if (row.owner === pid) return;
  row.replaced = row.replaced.filter((known) => known !== pid);
  if (row.owner !== undefined) row.replaced = [...row.replaced, row.owner].slice(-8);
  row.owner = pid;
}

function fill(row: Row, known: { [K in keyof Fields]?: Fields[K] | undefined }): void {
  for (const name of ["cwd", "repo", "transcript_path", "model", "name"] as const)
    if (known[name] !== undefined) row.fields[name] = known[name];
}

// Processes

function record(world: World, told: ProcessRecord, now: number): void {
  const before = world.records.get(told.pid);
  look(world, { [told.pid]: told.startToken }, now);
  world.records.set(told.pid, told);
  const left =
    before?.sessionId === told.sessionId ? undefined : world.rows.get(before?.sessionId ?? "");
  if (left) lose(world, left, told.pid, now);
  const at = Math.min(told.statusAt, now);
  const held = world.rows.get(told.sessionId);
  const row = held ?? newRow(world, told.sessionId, told.agent, Math.min(told.startedAt, now));
  fill(row, { cwd: told.cwd, name: told.name, transcript_path: told.transcriptPath });
  const moved =
    before?.sessionId !== told.sessionId ||
    before.statusAt !== told.statusAt ||
    before.word !== told.word;
  if (!moved) return;
  takeOver(row, told.pid);
  const event = { process_record: told.word };
  row.seen.push({ at, event, rank: "record", pid: told.pid, ...some("state", told.state) });
}

/** A pid that was seen alive and is now gone, or another process, is dead; its record with it. */
function look(world: World, checks: Record<number, string>, now: number): void {
  const dead = Object.entries(checks).filter(([pid, check]) => {
    const known = world.alive.get(Number(pid));
    return known !== undefined && known !== check;
  });
  for (const [pid, check] of Object.entries(checks))
    if (check === "gone") world.alive.delete(Number(pid));
    else world.alive.set(Number(pid), check);
  for (const [pid] of dead) world.records.delete(Number(pid));
  for (const [pid] of dead)
    for (const row of world.rows.values())
      if (row.owner === Number(pid)) lose(world, row, Number(pid), now);
}

/** The process is in this session no more: it goes at once, unless it has ended or others hold it. */
function lose(world: World, row: Row, pid: number, now: number): void {
  const others = holders(world, row, now).filter((holder) => holder !== pid);
  if (others.length > 0 || isEnded(row)) return;
  world.rows.delete(row.id);
  world.endedAt.set(row.id, now);
}

/** The live processes known to hold a session. */
function holders(world: World, row: Row, now: number): (number | undefined)[] {
  const recorded = [...world.records.values()].filter((known) => known.sessionId === row.id);
  const confirmed = [...row.replaced, row.owner].filter((pid) => world.alive.has(pid ?? 0));
  const streams = row.seen.filter((seen) => seen.rank === "exact" && now < seen.at + 75_000);
  return [...recorded.map((known) => known.pid), ...confirmed, ...streams.map((seen) => seen.pid)];
}

function age(world: World, now: number): void {
  for (const [key, window] of world.windows)
    if (now >= window.heardAt + 30_000) world.windows.delete(key);
  const gone = [...world.rows.values()].filter((row) => !exists(world, row, now));
  for (const row of gone) world.rows.delete(row.id);
}

function exists(world: World, row: Row, now: number): boolean {
  const newest = last(statements(row));
  if (newest?.state === "ended") return now < newest.at + 10_000;
  // After a sleep the next look comes first.
  if (Math.min(now, world.lookedAt + 60_000) < lastSeen(row) + 300_000) return true;
  const wasPrompted = isPrompted(row);
  const recorded = [...world.records.values()].some(
    (known) => known.sessionId === row.id && (wasPrompted || known.interactive),
  );
  return (
    recorded ||
    (wasPrompted && [row.owner, ...row.replaced].some((pid) => isCurrent(world, row, pid)))
  );
}

/** Whether the process lives and this is the most recently active of its sessions. */
function isCurrent(world: World, row: Row, pid: number | undefined): boolean {
  if (pid === undefined || !world.alive.has(pid)) return false;
  const rivals = [...world.rows.values()].filter(
    (other) => [other.owner, ...other.replaced].includes(pid) && !isEnded(other),
  );
  return rivals.every((other) => lastActive(other) <= lastActive(row));
}

// What a row says

const byTime = (a: Seen, b: Seen) => a.at - b.at;
const last = <T>(list: T[]): T | undefined => list[list.length - 1];
const statements = (row: Row) =>
  row.seen.filter((seen) => seen.state && seen.rank !== "ignored").sort(byTime);
const isEnded = (row: Row) => last(statements(row))?.state === "ended";
const lastSeen = (row: Row) => Math.max(...row.seen.map((seen) => seen.at));
const lastActive = lastSeen;

function isPrompted(row: Row): boolean {
  return row.seen.some(({ event, state, rank }) => {
    if (rank === "asked") return true;
    if (rank === "exact") return state !== "starting" && state !== "idle";
    if (typeof event === "object")
      return (
        "process_record" in event && (event.process_record !== "idle" || row.fields.transcript_path)
      );
    return !["session_start", "stop", "session_end"].includes(event);
  });
}

function stateOf(world: World, row: Row, now: number): SessionState {
  const said = statements(row);
  const newest = last(said);
  if (newest?.state === "ended") return "ended";
  const stream = last(said.filter((seen) => seen.rank === "exact"));
  if (stream?.state && now < stream.at + 75_000) return stream.state;
  const record = last(
    [...world.records.values()]
      .filter((known) => known.sessionId === row.id && known.state)
      .sort((a, b) => a.statusAt - b.statusAt),
  );
  if (record?.state) {
    const against = said.some(
      (seen) =>
        seen.rank === "event" &&
        seen.at > record.statusAt &&
        seen.state !== record.state &&
        now >= seen.at + 30_000,
    );
    if (!against) return record.state;
  }
  const grew = last(row.seen.filter((seen) => seen.event === "transcript_grew").sort(byTime));
  const mayGrow = !newest || newest.state === "idle";
  if (
    grew &&
    mayGrow &&
    now < grew.at + 15_000 &&
    grew.at > (newest?.at ?? Number.NEGATIVE_INFINITY) + 10_000
  )
    return "working";
  return newest?.state ?? "idle";
}

function entry(world: World, row: Row, now: number): Omit<Entry, "state_since"> {
  const { cwd } = row.fields;
  const key = [...world.windows.values()]
    .filter(({ report }) => report.tabs + report.terminals > 0)
    .filter(({ report }) => report.folders.some((f) => cwd === f || cwd?.startsWith(`${f}/`)))
    .map(({ report }) => report.key)
    .sort()[0];
  return {
    session_id: row.id,
    agent: row.agent,
    ...row.fields,
    state: stateOf(world, row, now),
    source: key === undefined ? { kind: "terminal" } : { kind: "vs_code", window_key: key },
    last_event: last([...row.seen].sort(byTime))?.event ?? "session_end",
    started_at: formatTime(row.startedAt),
    last_seen: formatTime(lastSeen(row)),
    ...some("pid", row.owner),
  };
}

const some = <K extends string, V>(key: K, value: V | undefined) =>
  (value === undefined ? {} : { [key]: value }) as { [P in K]?: V };

import type { SessionState } from "../protocol/session.ts";
import type { EpochMs } from "../protocol/time.ts";
import type { CallRef, Signal, WaitKind } from "./signal.ts";

/** An open question to the user. */
export type Wait = CallRef & { kind: WaitKind; at: EpochMs };
type Call = CallRef & { at: EpochMs };

/** What is known of a session's doings from events and statements; its state is computed from it. */
export type Facts = {
  phase: "starting" | "working" | "idle";
  waits: readonly Wait[];
  /** Tool calls that have begun and not ended. */
  calls: readonly Call[];
  /** Background commands running; they do not change the state. */
  background: number;
  /** The newest evidence taken in; older evidence moves nothing. */
  at: EpochMs;
  /** Since when `stateOf` gives what it gives now. */
  since: EpochMs;
};

/** Open calls remembered for each session: more than a model starts at once, few enough to hold. */
const MAX_OPEN_CALLS = 64;

/** Calls of one answer of the model start within this; a later one means that the turn went on. */
const TOGETHER_MS = 1000;

/** What is held of a session before any event told of it: it exists, and rests. */
export function restingFacts(since: EpochMs): Facts {
  return { phase: "idle", waits: [], calls: [], background: 0, at: 0, since };
}

/** The state that the facts add up to. */
export function stateOf(facts: Facts): SessionState {
  if (facts.waits.some((wait) => wait.kind === "permission")) return "waiting_for_permission";
  if (facts.waits.length > 0) return "waiting_for_input";
  return facts.phase;
}

/**
 * Takes in one event.
 *
 * Hints leave the facts as they are: a growing file proves that bytes were written, not that the
 * user answered. An event older than the newest one taken in changes nothing.
 */
export function applySignal(facts: Facts, signal: Signal, at: EpochMs): Facts {
  if (at < facts.at) return facts;
  const next = nextFacts(facts, signal, at);
  return next === facts ? facts : settled(facts, { ...next, at }, at);
}

function nextFacts(facts: Facts, signal: Signal, at: EpochMs): Facts {
  switch (signal.kind) {
    case "started":
      return { ...restingFacts(at), phase: "starting" };
    case "prompted":
      return { ...withoutMain(facts), phase: "working" };
    case "call_started":
      return callStarted(facts, signal, at);
    case "call_ended":
      return callEnded(facts, signal);
    case "asked":
      return asked(facts, signal, at);
    case "turn_ended":
      return { ...withoutMain(facts), phase: "idle" };
    case "stated":
      return stated(facts, signal.state, 0, at);
    case "refreshed":
    case "grew":
    case "discovered":
      return facts;
  }
}

/**
 * Takes in an exact statement: it ends every wait older than itself, and where it is the newest
 * evidence it is the whole truth.
 */
export function applyStatement(
  facts: Facts,
  statement: { state: SessionState; background: number; at: EpochMs },
): Facts {
  const { state, background, at } = statement;
  if (at >= facts.at) {
    return settled(facts, { ...stated(facts, state, background, at), at }, at);
  }
  const waits = facts.waits.filter((wait) => wait.at > at);
  return waits.length === facts.waits.length ? facts : settled(facts, { ...facts, waits }, at);
}

function stated(facts: Facts, state: SessionState, background: number, at: EpochMs): Facts {
  const phase = state === "starting" ? "starting" : state === "working" ? "working" : "idle";
  const kind = waitKindOf(state);
  if (!kind) return { ...facts, phase, waits: [], calls: [], background };
  return { ...facts, phase: "working", waits: [{ kind, at }], background };
}

function waitKindOf(state: SessionState): WaitKind | undefined {
  if (state === "waiting_for_permission") return "permission";
  return state === "waiting_for_input" ? "input" : undefined;
}

function settled(before: Facts, after: Facts, at: EpochMs): Facts {
  const goesOn = before.at > 0 && stateOf(before) === stateOf(after);
  return { ...after, since: goesOn ? before.since : at };
}

const isMain = (ref: CallRef) => ref.scope === undefined;

function withoutMain(facts: Facts): Facts {
  return {
    ...facts,
    waits: facts.waits.filter((wait) => !isMain(wait)),
    calls: facts.calls.filter((call) => !isMain(call)),
  };
}

// A reporter that names no call says only "a tool starts": that ends every question of its scope.
function callStarted(facts: Facts, ref: CallRef, at: EpochMs): Facts {
  const waits = facts.waits.flatMap((wait) => {
    if (wait.scope !== ref.scope) return [wait];
    if (ref.call === undefined) return [];
    if (wait.call === ref.call) return [wait];
    if (wait.call === undefined && wait.tool === ref.tool) return [{ ...wait, call: ref.call }];
    return at - wait.at <= TOGETHER_MS ? [wait] : [];
  });
  const opened = ref.call === undefined ? [] : [{ ...refOf(ref), at }];
  const calls = [...facts.calls, ...opened].slice(-MAX_OPEN_CALLS);
  return { ...facts, waits, calls, phase: isMain(ref) ? "working" : facts.phase };
}

function callEnded(facts: Facts, ref: CallRef): Facts {
  const isItsWait = (wait: Wait) =>
    wait.scope === ref.scope &&
    (ref.call === undefined ||
      wait.call === ref.call ||
      (wait.call === undefined && wait.tool === ref.tool));
  return {
    ...facts,
    waits: facts.waits.filter((wait) => !isItsWait(wait)),
    calls: facts.calls.filter((call) => call.call !== ref.call),
    phase: isMain(ref) ? "working" : facts.phase,
  };
}

// A request names its tool but never its call: it takes the newest open call of that tool.
function asked(facts: Facts, ref: CallRef & { wait: WaitKind }, at: EpochMs): Facts {
  const open = facts.calls.filter((call) => call.scope === ref.scope && call.tool === ref.tool);
  const call = ref.call ?? open.at(-1)?.call;
  const wait: Wait = {
    ...refOf({ ...ref, ...(call === undefined ? {} : { call }) }),
    kind: ref.wait,
    at,
  };
  const others = facts.waits.filter(
    (held) => held.scope !== wait.scope || held.tool !== wait.tool || held.call !== wait.call,
  );
  return { ...facts, waits: [...others, wait] };
}

function refOf(ref: CallRef): CallRef {
  return {
    ...(ref.scope === undefined ? {} : { scope: ref.scope }),
    ...(ref.tool === undefined ? {} : { tool: ref.tool }),
    ...(ref.call === undefined ? {} : { call: ref.call }),
  };
}

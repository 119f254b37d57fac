import type { SessionState } from "../protocol/session.ts";
import type { CallRef, Signal, WaitKind } from "../protocol/signal.ts";
import type { EpochMs } from "../protocol/time.ts";

/** An open question to the user. */
export type Wait = CallRef & { kind: WaitKind; at: EpochMs };
type Call = CallRef & { at: EpochMs };

/** What is known of a session's doings from events and statements; its state is computed from it. */
export type Facts = {
  phase: "starting" | "working" | "idle";
  waits: readonly Wait[];
  /** Tool calls that have begun and not ended. */
  calls: readonly Call[];
  /** Subagents that run in the background: while one does, an idle turn is not over. */
  subagents: readonly string[];
  /** The word for what ended the last turn, when that was an error. */
  error?: string;
  /** Background commands running; they do not change the state. */
  background: number;
  /** The newest evidence taken in; older evidence moves nothing. */
  at: EpochMs;
  /** Since when `stateOf` gives what it gives now. */
  since: EpochMs;
};

/** Open calls remembered for each session: more than a model starts at once, few enough to hold. */
const MAX_OPEN_CALLS = 64;

/** Subagents remembered for each session. */
const MAX_SUBAGENTS = 64;

/** Calls of one answer of the model start within this; a later one means that the turn went on. */
const TOGETHER_MS = 1000;

/** What is held of a session before any event told of it: it exists, and rests. */
export function restingFacts(since: EpochMs): Facts {
  return { phase: "idle", waits: [], calls: [], subagents: [], background: 0, at: 0, since };
}

/** The state that the facts add up to. */
export function stateOf(facts: Facts): SessionState {
  if (facts.waits.some((wait) => wait.kind === "permission")) return "waiting_for_permission";
  if (facts.waits.length > 0) return "waiting_for_input";
  return facts.phase === "idle" && facts.subagents.length > 0 ? "working" : facts.phase;
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
      return { ...withoutError(withoutMain(facts)), phase: "working" };
    case "call_started":
      return callStarted(facts, signal, at);
    case "call_ended":
      return callEnded(facts, signal);
    case "asked":
      return asked(facts, signal, at);
    case "turn_ended":
      return turnEnded(facts, signal);
    case "subagent_started":
      return {
        ...facts,
        subagents: [...others(facts.subagents, signal.scope), signal.scope].slice(-MAX_SUBAGENTS),
      };
    case "subagent_ended":
      return withoutScope(facts, signal.scope);
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
  if (kind) return { ...facts, phase: "working", waits: [{ kind, at }], background };
  if (phase === "idle") return { ...facts, phase, waits: [], calls: [], subagents: [], background };
  return { ...withoutError(facts), phase, waits: [], calls: [], background };
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

const others = (ids: readonly string[], id: string) => ids.filter((other) => other !== id);

const withoutError = ({ error, ...facts }: Facts): Facts => facts;

function turnEnded(facts: Facts, signal: Signal & { kind: "turn_ended" }): Facts {
  const { error, subagents = [], background = 0 } = signal;
  const ended = {
    ...withoutError(withoutMain(facts)),
    phase: "idle" as const,
    subagents,
    background,
  };
  return error === undefined ? ended : { ...ended, error };
}

function withoutScope(facts: Facts, scope: string): Facts {
  return {
    ...facts,
    subagents: others(facts.subagents, scope),
    waits: facts.waits.filter((wait) => wait.scope !== scope),
    calls: facts.calls.filter((call) => call.scope !== scope),
  };
}

function withoutMain(facts: Facts): Facts {
  return {
    ...facts,
    waits: facts.waits.filter((wait) => !isMain(wait)),
    calls: facts.calls.filter((call) => !isMain(call)),
  };
}

// A reporter that names neither call nor tool says only "a tool starts": that ends every question
// of its scope. Else a question stays while its call may still be asked about: its own call begins
// (hooks run in parallel), or another of the same answer.
function callStarted(facts: Facts, ref: CallRef, at: EpochMs): Facts {
  const isNamed = ref.call !== undefined || ref.tool !== undefined;
  const waits = facts.waits.flatMap((wait) => {
    if (wait.scope !== ref.scope) return [wait];
    if (!isNamed) return [];
    if (ref.call !== undefined && wait.call === ref.call) return [wait];
    const isTogether = at - wait.at <= TOGETHER_MS;
    if (
      wait.call === undefined &&
      wait.tool !== undefined &&
      wait.tool === ref.tool &&
      isTogether
    ) {
      return [ref.call === undefined ? wait : { ...wait, call: ref.call }];
    }
    return isTogether ? [wait] : [];
  });
  const opened = ref.call === undefined ? [] : [{ ...refOf(ref), at }];
  const calls = [...facts.calls, ...opened].slice(-MAX_OPEN_CALLS);
  return { ...facts, waits, calls, phase: isMain(ref) ? "working" : facts.phase };
}

function callEnded(facts: Facts, ref: CallRef): Facts {
  return {
    ...facts,
    waits: facts.waits.filter((wait) => wait.scope !== ref.scope || !isAbout(wait, ref)),
    calls: facts.calls.filter((call) => ref.call === undefined || call.call !== ref.call),
    phase: isMain(ref) ? "working" : facts.phase,
  };
}

/** Whether a question is about the call that ended; one that names nothing is about any. */
function isAbout(wait: Wait, ref: CallRef): boolean {
  if (ref.call === undefined && ref.tool === undefined) return true;
  if (ref.call !== undefined && wait.call !== undefined) return wait.call === ref.call;
  return wait.tool === undefined || wait.tool === ref.tool;
}

// A request names its tool but never its call: it takes the newest open call of that tool.
function asked(facts: Facts, ref: CallRef & { wait: WaitKind }, at: EpochMs): Facts {
  const open = facts.calls.filter((call) => call.scope === ref.scope && call.tool === ref.tool);
  const call = ref.call ?? (ref.tool === undefined ? undefined : open.at(-1)?.call);
  const about = refOf(call === undefined ? ref : { ...ref, call });
  const held = facts.waits.find(
    (wait) => wait.scope === about.scope && wait.tool === about.tool && wait.call === about.call,
  );
  const wait = { ...about, kind: ref.wait, at };
  return { ...facts, waits: [...facts.waits.filter((other) => other !== held), wait] };
}

function refOf(ref: CallRef): CallRef {
  return {
    ...(ref.scope === undefined ? {} : { scope: ref.scope }),
    ...(ref.tool === undefined ? {} : { tool: ref.tool }),
    ...(ref.call === undefined ? {} : { call: ref.call }),
  };
}

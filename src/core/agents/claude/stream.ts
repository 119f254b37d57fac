import type { SessionState } from "../../protocol/session.ts";
import type { EpochMs } from "../../protocol/time.ts";
import { agentsIn, fieldIn, MAX_WORD, textIn } from "./stream-line.ts";
import { StreamQuestions } from "./stream-questions.ts";

/** What a stream tells of a session beside its state. */
export type StreamSession = {
  id: string | undefined;
  cwd: string | undefined;
  model: string | undefined;
};

/** A turn that follows another began within 0.1 s, 0.3 s on a busy machine. */
const FOLLOW_MS = 1000;

/** Subagents held at once; more run in no session. */
const MAX_AGENTS = 64;

/**
 * What one Claude Code process does, read out of its stream-json on stdin and stdout.
 *
 * What moves the state, and what was seen of it (version 2.1.332; the streams of those runs are in
 * `test/fixtures/claude/stream`):
 *
 * - A prompt on stdin begins a turn. The turn's `system/init` comes after it; `result` ends it.
 * - Prompts written during a turn either become part of it, at its next request to the model after a
 *   tool, or make up one further turn together, right after its `result`. Nothing tells which
 *   before that turn's `init`; `queued_turn_count` does not count them.
 * - A background task that finishes opens a turn without a prompt, soon after its notification.
 * - A subagent in the background works on after `result`, and its questions outlive it.
 * - `session_state_changed`, for those who ask for it, is `running` through all of this, and says
 *   `idle` when all of it is over.
 */
export class ClaudeStream {
  #session: StreamSession;
  /** Somebody has spoken to this session, now or before it was resumed. */
  #isSpokenTo: boolean;
  #isTurn = false;
  /** A prompt began the turn, and nothing has come back yet. */
  #isFresh = false;
  /** The turn has its result, but a Claude that tells its state has not said yet that it is over. */
  #hasResult = false;
  /** Requests to the model in this turn. */
  #requests = 0;
  /** Prompts and notifications that came during a turn, and may open another one. */
  #queued = 0;
  /** How many of these will be in the next turn, if there is one. */
  #batch = 0;
  /** Until when a turn that may follow is waited for. */
  #followsBy: EpochMs = 0;
  readonly #questions = new StreamQuestions();
  /** Subagents that run in the background, by id. */
  #agents: readonly string[] = [];
  /** This version tells its state by itself. */
  #tellsState = false;
  #modelSwitch: { request: string; before: string | undefined } | undefined;

  /**
   * Begins with what the command line tells of the session; `isResumed`: it was spoken to before.
   */
  constructor({ isResumed, ...session }: StreamSession & { isResumed: boolean }) {
    this.#session = session;
    this.#isSpokenTo = isResumed;
  }

  /**
   * The session, once it has an id and somebody has spoken to it: an editor starts processes that
   * nobody may ever use.
   */
  get session(): (StreamSession & { id: string }) | undefined {
    const { id } = this.#session;
    return id !== undefined && this.#isSpokenTo ? { ...this.#session, id } : undefined;
  }

  /** Whether lines of `contentHeads` would change nothing now, so that they need not be read. */
  get isContentKnown(): boolean {
    return this.#isTurn && !this.#hasResult && this.#session.id !== undefined;
  }

  /** What the session is doing. */
  stateAt(now: EpochMs): SessionState {
    const isTurn = this.#isTurn && !this.#hasResult;
    const isBusy = isTurn || this.#agents.length > 0 || now < this.#followsBy;
    return this.#questions.stateAt(now) ?? (isBusy ? "working" : "idle");
  }

  /** When the state may change without another line. */
  nextDeadline(now: EpochMs): EpochMs | undefined {
    const named = this.#questions.nextDeadline(now) ?? Number.POSITIVE_INFINITY;
    const next = this.#followsBy > now ? Math.min(named, this.#followsBy) : named;
    return Number.isFinite(next) ? next : undefined;
  }

  /** Takes in a line that was written to Claude. */
  noteInput(line: unknown, now: EpochMs): void {
    switch (textIn(line, "type")) {
      case "user":
        this.notePrompt(now);
        break;
      case "control_response":
        this.#questions.settled(textIn(fieldIn(line, "response"), "request_id"));
        break;
      case "control_request": {
        const request = fieldIn(line, "request");
        if (textIn(request, "subtype") === "set_model")
          this.#modelChosen(textIn(line, "request_id"), textIn(request, "model", MAX_WORD));
      }
    }
  }

  /** Takes in that a prompt was written to Claude. */
  notePrompt(now: EpochMs): void {
    this.#isSpokenTo = true;
    if (!this.#hasResult && (this.#isTurn || now < this.#followsBy)) {
      this.#queued += 1;
      return;
    }
    this.#begin();
    this.#isFresh = true;
  }

  /** Takes in a line that Claude wrote. */
  noteOutput(line: unknown, now: EpochMs): void {
    this.#session.id ??= textIn(line, "session_id", MAX_WORD);
    switch (textIn(line, "type")) {
      case "system":
        this.#noteSystem(line, now);
        break;
      case "stream_event":
        if (textIn(fieldIn(line, "event"), "type") === "message_start") this.#noteContent(line);
        break;
      case "assistant":
        this.#noteContent(line);
        break;
      case "result":
        this.#noteResult(now);
        break;
      case "control_request": {
        const request = fieldIn(line, "request");
        this.#questions.asked(textIn(line, "request_id"), {
          subtype: textIn(request, "subtype"),
          tool: textIn(request, "tool_name"),
          agent: textIn(request, "agent_id"),
        });
        break;
      }
      case "control_cancel_request":
        this.#questions.settled(textIn(line, "request_id"));
        break;
      case "control_response":
        this.#modelAnswered(fieldIn(line, "response"));
    }
  }

  #noteSystem(line: unknown, now: EpochMs): void {
    switch (textIn(line, "subtype")) {
      case "init":
        this.#noteInit(line);
        break;
      case "status":
        this.#noteStatus(textIn(line, "status"));
        break;
      case "session_state_changed":
        this.#noteState(textIn(line, "state"), now);
        break;
      case "background_tasks_changed":
        this.#noteTasks(fieldIn(line, "tasks"), now);
        break;
      case "task_notification": // it is put before Claude like a prompt
        this.#queued += 1;
        if (!this.#isTurn || this.#hasResult) this.#expectTurn(now);
    }
  }

  /** A turn is about to be worked on; at the start of some versions, nothing at all is. */
  #noteInit(line: unknown): void {
    const { id, cwd, model } = this.#session;
    this.#session = {
      id: textIn(line, "session_id", MAX_WORD) ?? id,
      cwd: textIn(line, "cwd") ?? cwd,
      model: textIn(line, "model", MAX_WORD) ?? model,
    };
    this.#modelSwitch = undefined;
    this.#isSpokenTo = true;
    if ((!this.#isTurn || this.#hasResult) && this.#batch > 0) {
      const later = this.#queued - this.#batch;
      this.#begin();
      this.#queued = later;
    }
    this.#isFresh = false;
    this.#hasResult = false;
    this.#requests = 0;
  }

  #noteStatus(status: string | undefined): void {
    if (status === undefined) return; // some other thing has changed, such as the permission mode
    this.#goOn();
    if (status !== "requesting") return;
    this.#requests += 1;
    // Between the tools and the next request, what was written meanwhile becomes part of the turn.
    if (this.#requests > 1) this.#queued = 0;
  }

  /** The first content of a turn. What a subagent says is no turn; `#agents` knows of it. */
  #noteContent(line: unknown): void {
    const isSubagents = textIn(line, "parent_tool_use_id") !== undefined;
    const isCopy = fieldIn(line, "isReplay") === true || fieldIn(line, "isSynthetic") === true;
    if (!isSubagents && !isCopy) this.#goOn();
  }

  #noteResult(now: EpochMs): void {
    this.#questions.turnEnded(this.#agents);
    this.#requests = 0;
    if (!this.#tellsState) {
      this.#end(now);
      return;
    }
    this.#isFresh = false;
    this.#hasResult = true;
    this.#expectTurn(now);
  }

  #noteState(state: string | undefined, now: EpochMs): void {
    switch (state) {
      case "running":
        this.#questions.allSettled();
        this.#goOn();
        break;
      case "requires_action":
        this.#questions.announced(now);
        this.#goOn();
        break;
      case "idle":
        if (this.#isFresh) break; // it tells of the turn before
        this.#questions.allSettled();
        this.#agents = [];
        this.#queued = 0;
        this.#end(now);
        break;
      default:
        return; // not known, so not believed
    }
    this.#tellsState = true;
  }

  #noteTasks(tasks: unknown, now: EpochMs): void {
    const before = this.#agents;
    this.#agents = agentsIn(tasks).slice(0, MAX_AGENTS);
    this.#questions.agentsEnded(before.filter((agent) => !this.#agents.includes(agent)));
    const isLast = before.length > 0 && this.#agents.length === 0;
    if (isLast && (!this.#isTurn || this.#hasResult)) this.#expectTurn(now);
  }

  #begin(): void {
    this.#isSpokenTo = true;
    this.#isTurn = true;
    this.#isFresh = false;
    this.#hasResult = false;
    this.#requests = 0;
    this.#queued = 0;
    this.#batch = 0;
    this.#followsBy = 0;
  }

  #goOn(): void {
    if (!this.#isTurn || this.#hasResult) this.#begin();
    this.#isFresh = false;
  }

  #end(now: EpochMs): void {
    this.#isTurn = false;
    this.#isFresh = false;
    this.#hasResult = false;
    this.#followsBy = 0;
    if (this.#queued > 0) this.#expectTurn(now);
  }

  #expectTurn(now: EpochMs): void {
    this.#batch = Math.max(this.#queued, 1);
    this.#queued = this.#batch;
    this.#followsBy = now + FOLLOW_MS;
  }

  /** Takes effect at once; where Claude refuses, the old one is back. */
  #modelChosen(request: string | undefined, model: string | undefined): void {
    // Which one the default is tells the next init.
    if (request === undefined || model === undefined || model === "default") return;
    this.#modelSwitch = { request, before: this.#session.model };
    this.#session.model = model;
  }

  #modelAnswered(response: unknown): void {
    const change = this.#modelSwitch;
    if (change === undefined || textIn(response, "request_id") !== change.request) return;
    if (textIn(response, "subtype") === "error") this.#session.model = change.before;
    this.#modelSwitch = undefined;
  }
}

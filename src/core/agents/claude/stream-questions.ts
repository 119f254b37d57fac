import type { EpochMs } from "../../protocol/time.ts";
import { type WaitState, waitFor } from "./stream-line.ts";

/** How long Claude may take to name what it needs the user for: both lines come together. */
const UNNAMED_MS = 250;

/** Questions held at once; a stream that never answers cannot grow without end. */
const MAX_QUESTIONS = 64;

/** The questions to the user that are open in a stream. */
export class StreamQuestions {
  readonly #open = new Map<string, { state: WaitState; agent: string | undefined }>();
  /** Since when Claude needs the user for something it has not named. */
  #unnamedSince: EpochMs | undefined;

  /** What the session waits for; permission comes first, for it holds up what was begun. */
  stateAt(now: EpochMs): WaitState | undefined {
    const states = [...this.#open.values()].map(({ state }) => state);
    if (states.includes("waiting_for_permission")) return "waiting_for_permission";
    if (states.includes("waiting_for_input")) return "waiting_for_input";
    const unnamedAt = this.#unnamedAt();
    return unnamedAt !== undefined && now >= unnamedAt ? "waiting_for_permission" : undefined;
  }

  nextDeadline(now: EpochMs): EpochMs | undefined {
    const unnamedAt = this.#unnamedAt();
    return unnamedAt !== undefined && unnamedAt > now ? unnamedAt : undefined;
  }

  /**
   * Takes in a request of Claude, which may be a question.
   *
   * @param agent  The subagent that asks.
   */
  asked(
    request: string | undefined,
    { subtype, tool, agent }: Record<"subtype" | "tool" | "agent", string | undefined>,
  ): void {
    const state = waitFor(subtype, tool);
    if (request === undefined || state === undefined || this.#open.size >= MAX_QUESTIONS) return;
    this.#unnamedSince = undefined;
    this.#open.set(request, { state, agent });
  }

  /** Claude says that it needs the user. The question itself comes next, and tells its kind. */
  announced(now: EpochMs): void {
    if (this.#open.size === 0) this.#unnamedSince ??= now;
  }

  /** A question was answered or taken back. */
  settled(request: string | undefined): void {
    if (request !== undefined) this.#open.delete(request);
  }

  /** The turn is over: only subagents that still run can still be waiting. */
  turnEnded(runningAgents: readonly string[]): void {
    this.#unnamedSince = undefined;
    for (const [request, { agent }] of this.#open) {
      if (agent === undefined || !runningAgents.includes(agent)) this.#open.delete(request);
    }
  }

  agentsEnded(agents: readonly string[]): void {
    for (const [request, { agent }] of this.#open) {
      if (agent !== undefined && agents.includes(agent)) this.#open.delete(request);
    }
  }

  allSettled(): void {
    this.#open.clear();
    this.#unnamedSince = undefined;
  }

  #unnamedAt(): EpochMs | undefined {
    return this.#unnamedSince === undefined ? undefined : this.#unnamedSince + UNNAMED_MS;
  }
}

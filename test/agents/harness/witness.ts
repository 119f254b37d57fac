import { expect } from "vitest";
import type { Entry } from "../../../src/core/protocol/session.ts";
import { entry, Program, type Running } from "../../harness/program.ts";
import type { Lab } from "./lab.ts";
import { DEADLINE_MS } from "./wait.ts";

/** A row that is over is shown for some seconds more. */
export const isLive = ({ state }: Entry): boolean => state !== "ended";

/** Our daemon in a home of its own, and a reader that notes what it shows of the sessions of a lab. */
export class Witness {
  readonly program = new Program();
  readonly #lab: Lab;
  #watch: Running | undefined;
  #shown: Entry[] = [];
  readonly #states = new Map<string, string[]>();
  readonly #known = new Set<string>();

  /** @param lab  where the agents run. The daemon looks at its Codex home. */
  constructor(lab: Lab) {
    this.#lab = lab;
    this.program.env.CODEX_HOME = lab.codexHome;
  }

  /** Starts the daemon, and installs what makes the lab's agents report to it. */
  async start(...where: string[]): Promise<void> {
    const { program } = this;
    await program.run("daemon", "start");
    const args = ["sessions", "install-hooks", ...where, "--socket", program.socket];
    // What asks an agent for its version runs where the agent may run.
    const argv = this.#lab.inside([process.execPath, entry, ...args]);
    expect(await program.spawn(argv).ended()).toMatchObject({ exit: 0 });
    this.#watch = program.start("sessions", "watch", "-o", "ndjson", "--socket", program.socket);
    await this.#read();
    for (const { session_id } of this.#shown) this.#known.add(session_id);
  }

  /** Reads on until what is shown is as wanted. */
  async until<T>(what: string, find: (shown: Entry[]) => T | undefined, timeoutMs = DEADLINE_MS) {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const found = find(this.#shown);
      if (found !== undefined) return found;
      if (performance.now() > deadline) throw this.#vain(what);
      // Nothing new for a while is no failure: some things take a minute.
      await this.#read().catch(() => {});
    }
  }

  /** Waits for a session that was not there at the start nor returned before, and returns its row. */
  async newRow(): Promise<Entry> {
    const row = await this.until("a new session", (shown) =>
      shown.find((one) => isLive(one) && !this.#known.has(one.session_id)),
    );
    this.#known.add(row.session_id);
    return row;
  }

  /** Waits until a session is in this state. */
  untilState(id: string, state: string): Promise<Entry> {
    return this.until(`${id} to be ${state}`, (shown) =>
      shown.find((row) => row.session_id === id && row.state === state),
    );
  }

  /** Waits until none of these sessions is live any more. */
  async untilOver(ids: readonly string[], timeoutMs = DEADLINE_MS): Promise<void> {
    const isOver = (shown: Entry[]) =>
      !shown.some((row) => isLive(row) && ids.includes(row.session_id));
    await this.until(
      `the end of ${ids.join(", ")}`,
      (shown) => (isOver(shown) ? true : undefined),
      timeoutMs,
    );
  }

  /** The states that a session was shown in, each once; `starting`, which lasts for one hook, apart. */
  statesOf(id: string): string[] {
    const states = (this.#states.get(id) ?? []).filter((state) => state !== "starting");
    return states.filter((state, i) => state !== states[i - 1]);
  }

  async #read(): Promise<void> {
    const line = (await this.#watch?.line()) ?? "";
    this.#shown = (JSON.parse(line) as { sessions: Entry[] }).sessions;
    for (const { session_id, state } of this.#shown) {
      const states = this.#states.get(session_id) ?? [];
      if (states.at(-1) !== state) this.#states.set(session_id, [...states, state]);
    }
  }

  #vain(what: string): Error {
    const rows = this.#shown.map(({ session_id, state }) => `${session_id} ${state}`);
    const seen = [...this.#states].map(([id, states]) => `${id}: ${states.join(", ")}`);
    return new Error(`Waited in vain for ${what}.\nShown: ${rows.join(", ")}\n${seen.join("\n")}`);
  }
}

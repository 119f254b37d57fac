import { readCodexHook } from "../../src/core/agents/codex/hooks.ts";
import { codexProcess } from "../../src/core/agents/codex/process.ts";
import type { Captures, Line } from "./captures.ts";
import { goneIn, marksOf } from "./claude.ts";
import { serverSteps, serverTruth } from "./codex-server.ts";
import { addTruth, over, type Scenario, type Shown, type Step } from "./scenario.ts";

/** A prompt's hook follows its `working` within this. */
const FOLLOWS_MS = 1500;

/**
 * Reads a run of Codex; what it writes to its terminal of its state is the truth of the session that
 * the terminal shows. That is told by the prompts: a session's hook follows the terminal's `working`.
 */
export function codexScenario(captures: Captures, name: string): Scenario | undefined {
  const calls = captures.lines("hooks", name);
  const states = captures.lines("osc", name).filter(({ osc }) => osc === 7501);
  const timeline = captures.lines("timeline", name);
  const commands = new Map<number, string>();
  const steps = calls.flatMap((line) => hookStep(line, commands));
  steps.push(...serverSteps(captures, name));
  const truth: Scenario["truth"] = new Map();
  if (states.length === 0) serverTruth(captures, name, truth);
  let session: string | undefined;
  for (const { ts: at, text } of states) {
    const { word, right } = truthOf(String(text));
    if (word === "working") {
      const prompt = calls.find(
        ({ ts, event }) => event === "UserPromptSubmit" && ts >= at && ts - at < FOLLOWS_MS,
      );
      const prompted = prompt && readCodexHook(prompt.stdin);
      const next = prompted?.kind === "event" ? prompted.event.sessionId : session;
      // The terminal went on to another thread: of the one before nothing is told any more.
      if (session !== undefined && next !== session) {
        addTruth(truth, session, { at, word: "left", right: anything });
      }
      session = next;
    }
    if (session !== undefined) addTruth(truth, session, { at, word, right });
  }
  // The terminal's own process went. Without it a thread is over, unless a server runs it.
  for (const [pid, at] of goneIn(timeline)) {
    if (session === undefined || at < (states[0]?.ts ?? 0)) continue;
    const isOwn = steps.some((step) => step.session === session && step.pid === pid);
    addTruth(truth, session, { at, word: "gone", right: isOwn ? over : anything });
  }
  if (truth.size === 0) return undefined;
  steps.sort((a, b) => a.at - b.at);
  const endAt = Math.max(...timeline.map(({ ts }) => ts), ...steps.map(({ at }) => at));
  const goneAt = goneIn(timeline);
  return { name: `codex/${name}`, agent: "codex", steps, truth, goneAt, tokens: new Map(), endAt };
}

const anything: readonly Shown[] = [
  ...["starting", "working", "idle", "waiting_for_input", "waiting_for_permission"],
  ...over,
] as Shown[];

/** Reads a program status (OSC 7501). */
export function truthOf(text: string): { word: string; right: readonly Shown[] } {
  const state = /state=(\w+)/.exec(text)?.[1] ?? "clear";
  const kind = /kind=(\w+)/.exec(text)?.[1];
  const word = kind ? `${state}: ${kind}` : state;
  switch (state) {
    case "working":
      return { word, right: ["working"] };
    case "blocked":
      return {
        word,
        right: [kind === "permission" ? "waiting_for_permission" : "waiting_for_input"],
      };
    case "clear":
      return { word, right: ["idle", ...over] };
    default:
      return { word, right: ["idle"] };
  }
}

function hookStep(line: Line, commands: Map<number, string>): Step[] {
  const chain = (line.chain ?? []) as { pid: number; comm: string; cmd?: string }[];
  for (const { pid, cmd } of chain) if (cmd) commands.set(pid, cmd);
  const report = readCodexHook(line.stdin);
  if (!report) return [];
  const parent = chain.find(({ comm }) => comm === "codex")?.pid;
  const command = parent === undefined ? "" : (commands.get(parent) ?? "");
  // Long command lines are cut in captures; the server runs from a folder of its own.
  const isServer =
    command.includes("/app-server-daemon/") || codexProcess(command.split(" ")) === "server";
  const owner = parent === undefined || isServer ? {} : { pid: parent };
  const session = report.kind === "end" ? report.sessionId : report.event.sessionId;
  return [
    {
      at: line.ts,
      source: "hook",
      session,
      ...marksOf(report),
      ...owner,
      apply: (sessions) =>
        void (report.kind === "end"
          ? sessions.end({ session_id: session, ...owner }, line.ts)
          : sessions.event({ ...report.event, ...owner }, line.ts)),
    },
  ];
}

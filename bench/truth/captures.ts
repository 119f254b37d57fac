import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { claudeScenario } from "./claude.ts";
import { codexScenario } from "./codex.ts";
import { piScenario } from "./pi.ts";
import type { Scenario } from "./scenario.ts";

/** A line of a capture: JSON, of which each reader takes what it knows. */
export type Line = { ts: number; [field: string]: unknown };

/** The files of one agent in a folder of captures. */
export class Captures {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Names of the scenarios that have a file in `kind`. */
  scenarios(kind: string): string[] {
    const folder = path.join(this.#folder, kind);
    if (!existsSync(folder)) return [];
    const files = readdirSync(folder).filter((name) => name.endsWith(".ndjson"));
    return files.map((name) => name.replace(".ndjson", "")).sort();
  }

  /** The lines of a scenario's file; none when there is no such file. */
  lines(kind: string, scenario: string): Line[] {
    return readLines(path.join(this.#folder, kind, `${scenario}.ndjson`));
  }

  /** The files below a scenario's folder, by their names, with their lines. */
  tree(kind: string, scenario: string): { name: string; lines: Line[] }[] {
    const folder = path.join(this.#folder, kind, scenario);
    if (!existsSync(folder)) return [];
    const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
    return names
      .filter((name) => name.endsWith(".ndjson"))
      .map((name) => ({ name, lines: readLines(path.join(folder, name)) }));
  }
}

function readLines(file: string): Line[] {
  if (!existsSync(file)) return [];
  const text = readFileSync(file, "utf8").split("\n");
  return text.filter((line) => line !== "").map((line) => JSON.parse(line));
}

/** Reads every scenario of a folder laid out as `claude/`, `codex/` and `pi/`. */
export async function readCaptures(folder: string): Promise<Scenario[]> {
  const claude = new Captures(path.join(folder, "claude"));
  const codex = new Captures(path.join(folder, "codex"));
  const pi = new Captures(path.join(folder, "pi"));
  const scenarios: (Scenario | undefined)[] = [];
  for (const kinds of [
    { hooks: "hooks", records: "registry" },
    { hooks: "stream-hooks", records: "stream-registry" },
  ]) {
    const names = claude.scenarios(kinds.records);
    scenarios.push(...names.map((name) => claudeScenario(claude, name, kinds)));
  }
  scenarios.push(...codex.scenarios("hooks").map((name) => codexScenario(codex, name)));
  for (const name of pi.scenarios("osc")) scenarios.push(await piScenario(pi, name));
  return scenarios.filter((scenario) => scenario !== undefined);
}

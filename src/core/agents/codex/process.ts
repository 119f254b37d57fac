/** What a process of Codex's is to the sessions that it runs. */
export type CodexProcess =
  /** One terminal, one thread at a time: its life is the session's life. */
  | "tui"
  /** One run without anybody at it. */
  | "exec"
  /** Serves the threads of many windows and outlives them: its life says nothing about one of them. */
  | "server";

const SERVERS = new Set(["app-server", "mcp-server", "exec-server"]);

/**
 * Tells from a command line what a process of Codex's is.
 * Source: docs/agents/codex.md#processes, seen in 0.171.0.
 *
 * @param args  the words of its command line, the program's own name first.
 */
export function codexProcess([, ...args]: readonly string[]): CodexProcess {
  // Some systems tell the words of a prompt apart no better than arguments: to take a terminal for a
  // server only loses its pid, to take it for a run would hide it.
  if (args.some((arg) => SERVERS.has(arg))) return "server";
  return args.find((arg) => !arg.startsWith("-")) === "exec" ? "exec" : "tui";
}

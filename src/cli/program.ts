import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { version } from "../core/protocol/version.ts";
import type { ExplainOptions } from "./commands/explain.ts";
import { tellFailure, USAGE_EXIT } from "./failure.ts";
import type { World } from "./world.ts";

/** What a command does; returns the exit status. */
type Run<Options> = (options: Options, world: World) => Promise<number>;

/** Runs the command line `args`, tells what fails, and returns the exit status. */
export async function main(args: readonly string[], world: World): Promise<number> {
  const debug = Boolean(world.host.env.OMNI_DEV_DEBUG);
  const tell = (error: unknown) => tellFailure(error, debug, (text) => world.stderr.write(text));
  // A reader that has read enough, or a terminal that is gone, is nobody's failure.
  world.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE" || error.code === "EIO") return;
    world.stderr.write(`Cannot write the output: ${error.message}\n`);
    process.exit(1);
  });
  world.stderr.on("error", () => {}); // there is no other place to say so
  process.on("uncaughtException", (error) => process.exit(tell(error)));
  try {
    return await parse(args, world);
  } catch (error) {
    if (!(error instanceof CommanderError)) return tell(error);
    return error.exitCode === 0 ? 0 : USAGE_EXIT;
  }
}

async function parse(args: readonly string[], world: World): Promise<number> {
  let status = 0;
  // Each command is loaded when it is run, so that none waits for the code of the others.
  const run = <Options>(load: () => Promise<Run<Options>>) => {
    return async (options: Options) => {
      status = await (await load())(options, world);
    };
  };

  const program = new Command("omni-dev")
    .description("Shows what every coding agent on this machine is doing right now.")
    .version(version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => world.stdout.write(text),
      writeErr: (text) => world.stderr.write(text),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .addHelpText("after", examples("sessions watch", "sessions list -o json", "daemon status"));

  const sessions = program
    .command("sessions")
    .description("the sessions of all agents: working, idle, or waiting for you")
    .addHelpText("after", examples("sessions watch", "sessions list --all"));

  sessions
    .command("list")
    .description("print the sessions that run now, those that need you first")
    .addOption(output("table", "json"))
    .addOption(socket())
    .addOption(all())
    .addHelpText(
      "after",
      examples("sessions list", "sessions list -o json | jq '.sessions[].state'"),
    )
    .action(run(async () => (await import("./commands/list.ts")).list));

  sessions
    .command("watch")
    .description("show the sessions live; starts a daemon for as long as it runs if there is none")
    .addOption(output("table", "ndjson"))
    .addOption(socket())
    .addOption(all())
    .addHelpText("after", examples("sessions watch", "sessions watch -o ndjson"))
    .action(run(async () => (await import("./commands/watch.ts")).watch));

  sessions
    .command("explain")
    .description(
      "say why one session shows what it shows, and what was seen of it; for bug reports",
    )
    .argument("<id>", "the session's id, or how it begins")
    .addOption(output("text", "json"))
    .addOption(socket())
    .addHelpText(
      "after",
      examples("sessions explain 01a22789", "sessions explain 01a22789 -o json"),
    )
    .action(async (id: string, options: ExplainOptions) => {
      status = await (await import("./commands/explain.ts")).explain(id, options, world);
    });

  sessions
    .command("window")
    .description("report what an editor window shows of agents; holds for 30 s")
    .requiredOption("--key <key>", "the window's own key")
    .option("--folder <dir>", "a folder open in it; may be repeated", append, [])
    .option("--tabs <n>", "agent tabs in it", count, 0)
    .option("--terminals <n>", "agent terminals in it", count, 0)
    .addOption(socket())
    .addHelpText("after", examples("sessions window --key w1 --folder ~/src/app --tabs 1"))
    .action(run(async () => (await import("./commands/window.ts")).window));

  sessions
    .command("window-unregister")
    .description("take back a window's report")
    .requiredOption("--key <key>", "the window's own key")
    .addOption(socket())
    .addHelpText("after", examples("sessions window-unregister --key w1"))
    .action(run(async () => (await import("./commands/window-unregister.ts")).windowUnregister));

  sessions
    .command("install-hooks")
    .description(
      "let Claude Code, Codex and pi tell of every event at once; all else in their files stays as it is",
    )
    .option("--settings <path>", "Claude's settings file, instead of its own")
    .option(
      "--codex-home <dir>",
      "Codex's folder, instead of its own; also where no Codex is found",
    )
    .option(
      "--pi-agent-dir <dir>",
      "pi's agent folder, instead of its own; also where no pi is found",
    )
    .option("--dry-run", "only say what would change")
    .addOption(socket())
    .addHelpText("after", examples("sessions install-hooks", "sessions install-hooks --dry-run"))
    .action(run(async () => (await import("./commands/install-hooks.ts")).installHooks));

  sessions
    .command("uninstall-hooks")
    .description("take the hooks out again; everything else stays as it is")
    .option("--settings <path>", "Claude's settings file, instead of its own")
    .option("--codex-home <dir>", "Codex's folder, instead of its own")
    .option("--pi-agent-dir <dir>", "pi's agent folder, instead of its own")
    .option("--dry-run", "only say what would change")
    .addHelpText("after", examples("sessions uninstall-hooks"))
    .action(run(async () => (await import("./commands/uninstall-hooks.ts")).uninstallHooks));

  sessions
    .command("install-wrapper")
    .description("let editors start Claude in a wrapper that tells its state exactly")
    .option("--settings <path>", "an editor's settings file, instead of all that are found")
    .option("--shim <path>", "the file that editors start, instead of the one beside the socket")
    .option("--dry-run", "only say what would change")
    .addOption(socket())
    .addHelpText(
      "after",
      examples("sessions install-wrapper", "sessions install-wrapper --dry-run"),
    )
    .action(run(async () => (await import("./commands/install-wrapper.ts")).installWrapper));

  sessions
    .command("uninstall-wrapper")
    .description("let editors start Claude directly again")
    .option("--settings <path>", "an editor's settings file, instead of all that are found")
    .option("--shim <path>", "the file that editors start, instead of the one beside the socket")
    .option("--dry-run", "only say what would change")
    .addOption(socket())
    .addHelpText("after", examples("sessions uninstall-wrapper"))
    .action(run(async () => (await import("./commands/uninstall-wrapper.ts")).uninstallWrapper));

  sessions
    .command("hook")
    .description(
      "what an agent runs as its hook: hands standard input to the daemon, always exits 0",
    )
    .option("--agent <name>", "who runs it", "claude")
    .addOption(socket())
    .addHelpText("after", examples("sessions hook --agent claude < payload.json"));

  program
    .command("claude-wrap <command> [args...]")
    .description("run Claude's command and tell its state out of its stream; for install-wrapper")
    .addOption(socket())
    .addHelpText("after", examples("claude-wrap claude -p --output-format stream-json hello"));

  const daemon = program
    .command("daemon")
    .description("the process that knows the sessions; one for each user")
    .addHelpText("after", examples("daemon start", "daemon status --json"));

  daemon
    .command("run")
    .description("run the daemon here until it is interrupted")
    .option("-q, --quiet", "write to the log file only")
    .addOption(socket())
    .addHelpText("after", examples("daemon run", "daemon run --socket /tmp/mine/daemon.sock"))
    .action(run(async () => (await import("./commands/daemon-run.ts")).daemonRun));

  daemon
    .command("start")
    .description("start the daemon in the background")
    .addOption(socket())
    .addHelpText("after", examples("daemon start"))
    .action(run(async () => (await import("./commands/daemon-start.ts")).daemonStart));

  daemon
    .command("stop")
    .description("stop the daemon")
    .addOption(socket())
    .addHelpText("after", examples("daemon stop"))
    .action(run(async () => (await import("./commands/daemon-stop.ts")).daemonStop));

  daemon
    .command("restart")
    .description("stop the daemon and start this version")
    .addOption(socket())
    .addHelpText("after", examples("daemon restart"))
    .action(run(async () => (await import("./commands/daemon-restart.ts")).daemonRestart));

  daemon
    .command("status")
    .description("tell how the daemon and its services fare")
    .option("--json", "print the daemon's own answer")
    .addOption(socket())
    .addHelpText("after", examples("daemon status", "daemon status --json"))
    .action(run(async () => (await import("./commands/daemon-status.ts")).daemonStatus));

  daemon
    .command("logs")
    .description("print the daemon's log")
    .option("-f, --follow", "go on with what it writes from now on")
    .addOption(socket())
    .addHelpText("after", examples("daemon logs", "daemon logs -f"))
    .action(run(async () => (await import("./commands/daemon-logs.ts")).daemonLogs));

  // A group without a command is a question, not a mistake.
  const isGroup = args.length === 0 || (args.length === 1 && isGroupOf(program, args[0]));
  await program.parseAsync(isGroup ? [...args, "--help"] : args, { from: "user" });
  return status;
}

const isGroupOf = (program: Command, name: string | undefined) =>
  program.commands.some((command) => command.name() === name && command.commands.length > 0);

const examples = (...lines: string[]) =>
  `\n${lines.length > 1 ? "Examples" : "Example"}:\n${lines.map((line) => `  $ omni-dev ${line}`).join("\n")}`;

const socket = () =>
  new Option("--socket <path>", "the daemon's socket, instead of OMNI_DEV_SOCKET or the default");

const output = (first: string, ...others: string[]) =>
  new Option("-o, --output <format>", "how to print").choices([first, ...others]).default(first);

const all = () => new Option("--all", "headless runs, too");

const append = (value: string, others: string[]) => [...others, value];

function count(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("It is not a whole number.");
  return Number(text);
}

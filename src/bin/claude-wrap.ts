import { currentHost, resolveSocket } from "../platform/paths.ts";
import { parseArguments } from "../wrap/arguments.ts";
import { runClaude } from "../wrap/claude-wrap.ts";

// `omni-dev claude-wrap …` and the shim both come here.
const from = process.argv[2] === "claude-wrap" ? 3 : 2;
const wanted = parseArguments(process.argv.slice(from));
if (wanted) {
  runClaude(wanted, (flag) => {
    const { path, problem } = resolveSocket({ flag, host: currentHost() });
    return problem ? undefined : path;
  });
} else {
  process.stderr.write("What is to be run? omni-dev claude-wrap COMMAND [ARGUMENT]...\n");
  process.exitCode = 2;
}

import { runSink } from "../hook/sink.ts";
import { currentHost, resolveSocket } from "../platform/paths.ts";

// `omni-dev sessions hook …` and the launcher both come here.
const from = process.argv[2] === "sessions" ? 4 : 2;
runSink(process.argv.slice(from), (flag) => {
  const { path, problem } = resolveSocket({ flag, host: currentHost() });
  return problem ? undefined : path;
});

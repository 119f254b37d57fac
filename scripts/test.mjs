// Checks everything: `test.mjs` all of it, `test.mjs check` without the black-box tests, and
// `test.mjs agents` the tests with real agents. What follows goes to vitest.
import path from "node:path";
import { build, Failed, install, main, run } from "./build.mjs";

const modes = {
  all: { checks: true, vitest: ["run"] },
  check: { checks: true, vitest: ["run", "--exclude", "test/**"] },
  agents: { checks: false, vitest: ["run", "--config", "test/agents/vitest.config.ts"] },
};

const [first, ...others] = process.argv.slice(2);
const named = Object.hasOwn(modes, first ?? "");
const mode = named ? modes[first] : modes.all;
const flags = named ? others : process.argv.slice(2);

await main(async () => {
  await install();
  if (mode.checks) {
    await tool("@biomejs/biome/bin/biome", ["check", "."]);
    await tool("typescript/bin/tsc", ["-p", "."]);
    await tool("typescript/bin/tsc", ["-p", "tsconfig.core.json"]);
  }
  await build();
  await tool("vitest/vitest.mjs", [...mode.vitest, ...flags]);
});

/** Runs a tool of node_modules; by its file, so that no shell and no PATH has a say. */
async function tool(file, args) {
  const { status } = await run(process.execPath, [`node_modules/${file}`, ...args]);
  if (status !== 0) throw new Failed(`Failed: ${path.basename(file)} ${args.join(" ")}`, status);
}

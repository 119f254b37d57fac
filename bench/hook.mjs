// What one hook call costs, in parts of what it costs to start Node with nothing to do.
//
//   node bench/hook.mjs [--rounds N] [--calls N] [--only NAME]... [--json]
//
// All are run as an agent runs a hook, in turns and in changing order, so that what else the machine
// does falls on all alike. Processor time is the steadier figure: the time of all processes of a
// call. NODE_EXTRA_CA_CERTS is unset: it would triple Node's start, and flatter everything else.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";

const SINGLE_CALLS = 200;

const options = parseArgs({
  options: {
    rounds: { type: "string", default: "10" },
    // In a row, their time taken as a whole: the clock of processor time has ticks of 10 ms.
    calls: { type: "string", default: "25" },
    only: { type: "string", multiple: true },
    json: { type: "boolean", default: false },
  },
}).values;
const calls = Number(options.calls);

const root = path.resolve(import.meta.dirname, "..");
const folder = mkdtempSync(path.join(os.tmpdir(), "omni-dev-bench-"));
const socketPath = path.join(folder, "s");
const payloadFile = path.join(folder, "payload");
const { NODE_EXTRA_CA_CERTS: _, NODE_OPTIONS: __, OMNI_DEV_SOCKET: ___, ...env } = process.env;

const sink = await bundle(
  "sink.cjs",
  "cjs",
  `import { runSink } from "./src/hook/sink.ts";
   runSink(process.argv.slice(2), (flag) => flag);`,
);
const tools = await bundle(
  "tools.mjs",
  "esm",
  `export { launcherText } from "./src/hook/launcher.ts";
   export { hookCommand } from "./src/install/own-command.ts";
   export { sendersOf } from "./src/install/probe.ts";
   export { currentHost } from "./src/platform/paths.ts";`,
);
const { launcherText, hookCommand, sendersOf, currentHost } = await import(pathToFileURL(tools));

const padding = "x".repeat(900);
writeFileSync(
  payloadFile,
  JSON.stringify({ hook_event_name: "PostToolUse", tool_input: padding, tool_name: "Bash" }),
);

const host = { ...currentHost(), env };
const commands = { "node -e 0": [process.execPath, "-e", "0"], "sh -c :": ["/bin/sh", "-c", ":"] };
const perl = launcherOf("perl");
if (perl) {
  const call = hookCommand(perl);
  commands["hook (perl)"] = ["/bin/sh", "-c", call];
  commands["hook (perl), no daemon"] = [
    "/bin/sh",
    "-c",
    `OMNI_DEV_SOCKET=${socketPath}-none; ${call}`,
  ];
  commands["hook (perl), launcher as a program"] = ["/bin/sh", "-c", perl];
}
const nc = launcherOf("nc");
if (nc) commands["hook (nc)"] = ["/bin/sh", "-c", hookCommand(nc)];
commands["hook (node)"] = ["/bin/sh", "-c", hookCommand(launcherOf("node"))];
commands["sink alone"] = [process.execPath, sink, "--socket", socketPath];

const daemon = await startDaemon();
try {
  const blocks = measureBlocks(Number(options.rounds));
  if (options.json) {
    process.stdout.write(`${JSON.stringify(blocks)}\n`);
  } else {
    print(blocks);
    printSingles();
  }
} finally {
  daemon.kill();
  rmSync(folder, { recursive: true, force: true });
}

/** Puts a launcher in place for the first sender of a kind; undefined when there is none here. */
function launcherOf(kind) {
  const sender = sendersOf(host, { path: process.execPath, sink }).find((it) => it.kind === kind);
  if (!sender) return undefined;
  const file = path.join(folder, kind, "omni-dev/hook");
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, launcherText({ sender, socketPath }), { mode: 0o700 });
  return file;
}

async function bundle(name, format, contents) {
  const outfile = path.join(folder, name);
  const stdin = { contents, resolveDir: root, loader: "ts" };
  const node = { platform: "node", target: "node20.19", mainFields: ["module", "main"] };
  await build({ ...node, stdin, outfile, format, bundle: true });
  return outfile;
}

/** Answers each hook as the daemon does, in a process of its own. */
async function startDaemon() {
  const script = `
    require("node:net")
      .createServer({ allowHalfOpen: true }, (socket) => {
        socket.on("error", () => {});
        socket.on("data", () => {});
        socket.on("end", () => socket.end('{"ok":true,"payload":{"ok":true}}\\n'));
      })
      .listen(process.argv[1], () => process.stdout.write("ready"));`;
  const child = spawn(process.execPath, ["-e", script, socketPath], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  return child;
}

/** Milliseconds of a call, by wall clock and by processor, for each command and round. */
function measureBlocks(count) {
  const names = Object.keys(commands).filter((name) => options.only?.includes(name) ?? true);
  const results = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = -1; round < count; round++) {
    for (const name of names.sort(() => Math.random() - 0.5)) {
      const block = measureBlock(commands[name]);
      if (round >= 0) results[name].push(block); // the first one only warms up
    }
  }
  return results;
}

function measureBlock(command) {
  const loop = `i=0; while [ $i -lt ${calls} ]; do "$@" <'${payloadFile}' || exit 1; i=$((i+1)); done; times`;
  const start = performance.now();
  const { status, stdout, stderr } = spawnSync("/bin/sh", ["-c", loop, "sh", ...command], {
    env,
    encoding: "utf8",
  });
  const wall = (performance.now() - start) / calls;
  if (status !== 0 || stderr !== "") throw new Error(`${command}: ${status} ${stderr}`);
  const seconds = [...stdout.matchAll(/(\d+)m([\d.]+)s/g)].map(([, m, s]) => m * 60 + Number(s));
  const cpu = (seconds.reduce((sum, it) => sum + it, 0) * 1000) / calls;
  return { wall, cpu };
}

function print(results) {
  const base = results["node -e 0"];
  const row = (name, ...cells) => {
    const [first, ...others] = cells;
    const columns = [first, ...others].map((cell) => cell.padStart(9)).join("");
    process.stdout.write(`${name.padEnd(36)}${columns}\n`);
  };
  row("", "wall ms", "cpu ms", "wall/node", "cpu/node");
  for (const [name, blocks] of Object.entries(results)) {
    const of = (kind) => median(blocks.map((block) => block[kind]));
    const ratio = (kind) => median(blocks.map((block, i) => block[kind] / base[i][kind]));
    const cells = [of("wall").toFixed(2), of("cpu").toFixed(2)];
    row(name, ...cells, ratio("wall").toFixed(3), ratio("cpu").toFixed(3));
  }
}

/** Single calls as Node starts them: what starting costs the one who starts is in it. */
function printSingles() {
  const names = ["node -e 0", "hook (perl)", "hook (perl), no daemon", "hook (node)"];
  const known = names.filter((name) => commands[name]);
  const times = Object.fromEntries(known.map((name) => [name, []]));
  for (let i = 0; i < SINGLE_CALLS; i++) {
    for (const name of known) {
      const [file, ...args] = commands[name];
      const start = performance.now();
      spawnSync(file, args, { env, input: padding });
      times[name].push(performance.now() - start);
    }
  }
  process.stdout.write(`\n${SINGLE_CALLS} single calls, ms      median      p95\n`);
  for (const [name, list] of Object.entries(times)) {
    const [middle, late] = [0.5, 0.95].map((part) => quantile(list, part).toFixed(2).padStart(9));
    process.stdout.write(`${name.padEnd(26)}${middle}${late}\n`);
  }
}

function quantile(list, part) {
  return [...list].sort((a, b) => a - b)[Math.floor(list.length * part)];
}

function median(list) {
  return quantile(list, 0.5);
}

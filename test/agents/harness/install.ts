import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PIN_FILES = ["package.json", "package-lock.json", ".npmrc"];
const PLATFORM = `${process.platform}-${process.arch}`;

/** An agent, and how to call it once npm has installed what its folder beside this one pins. */
interface Pin {
  folder: "claude-code" | "codex" | "pi";
  /** Command lines to look for; npm installs the platform's own, so what is there is right. */
  commands(modules: string): string[][];
}

const CLAUDE: Pin = {
  folder: "claude-code",
  commands: (modules) =>
    [PLATFORM, `${PLATFORM}-musl`].map((platform) => [
      join(modules, `@anthropic-ai/claude-code-${platform}`, "claude"),
    ]),
};

const CODEX: Pin = {
  folder: "codex",
  commands: (modules) =>
    ["x86_64", "aarch64"].map((machine) => [
      join(modules, `@openai/codex-${PLATFORM}/vendor/${machine}-unknown-linux-musl/bin/codex`),
    ]),
};

/** It needs a newer Node than the one that the tests may run on, and so brings its own. */
const PI: Pin = {
  folder: "pi",
  commands: (modules) => [
    [
      join(modules, `node-${PLATFORM}/bin/node`),
      join(modules, "@earendil-works/pi-coding-agent/dist/bundle/cli.js"),
    ],
  ],
};

/** Installs the pinned Claude Code, unless the cache has it, and returns the path of its binary. */
export async function installClaude(): Promise<string> {
  const [binary = ""] = await install(CLAUDE);
  return binary;
}

/** Installs the pinned Codex, unless the cache has it, and returns the path of its native binary. */
export async function installCodex(): Promise<string> {
  const [binary = ""] = await install(CODEX);
  return binary;
}

/** Installs the pinned pi and its Node, unless the cache has them. Both begin its command line. */
export async function installPi(): Promise<[node: string, script: string]> {
  const [node = "", script = ""] = await install(PI);
  return [node, script];
}

/** Reads the versions that an agent's folder pins, its own first. */
export async function pinnedVersions(folder: Pin["folder"]): Promise<string[]> {
  const file = join(pinFolder(folder), "package.json");
  const pin = JSON.parse(await readFile(file, "utf8")) as {
    dependencies?: Record<string, string>;
    optionalDependencies?: Record<string, string>;
  };
  const all = Object.values({ ...pin.dependencies, ...pin.optionalDependencies });
  if (all.length === 0) throw new Error(`Cannot read the pinned version: ${file}`);
  return [...new Set(all)];
}

/**
 * Installs what a folder pins, unless the cache has it.
 *
 * The cache is `$OMNI_DEV_TEST_CACHE`, else `omni-dev-tests` in the user's cache folder: 400 MB
 * an agent are too much for every clone. Runs at the same time may share it.
 */
async function install(pin: Pin): Promise<string[]> {
  const cache = cacheFolder();
  const home = join(cache, [pin.folder, ...(await pinnedVersions(pin.folder))].join("-"));
  const cached = commandIn(home, pin);
  if (cached) return cached;

  await mkdir(cache, { recursive: true });
  const staging = await mkdtemp(`${home}.`);
  try {
    for (const file of PIN_FILES) {
      await copyFile(join(pinFolder(pin.folder), file), join(staging, file));
    }
    await npmCi(staging);
    if (!commandIn(staging, pin)) throw new Error(`npm installed no ${pin.folder}: ${staging}`);
    await publish(staging, home, pin);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  const installed = commandIn(home, pin);
  if (!installed) throw new Error(`Cannot find ${pin.folder}: ${home}`);
  return installed;
}

function pinFolder(folder: Pin["folder"]): string {
  return fileURLToPath(new URL(`../${folder}/`, import.meta.url));
}

function cacheFolder(): string {
  const { OMNI_DEV_TEST_CACHE, XDG_CACHE_HOME } = process.env;
  return OMNI_DEV_TEST_CACHE || join(XDG_CACHE_HOME || join(homedir(), ".cache"), "omni-dev-tests");
}

function commandIn(home: string, pin: Pin): string[] | undefined {
  const commands = pin.commands(join(home, "node_modules"));
  return commands.find((files) => files.every((file) => existsSync(file)));
}

/** Moves a finished install into place. Another run may have been faster: then its one stays. */
async function publish(staging: string, home: string, pin: Pin): Promise<void> {
  try {
    await rename(staging, home);
  } catch (cause) {
    if (!commandIn(home, pin)) {
      throw new Error(`Cannot move the install into place: ${home}`, { cause });
    }
  }
}

/** Without install scripts: Claude Code's would only copy its 400 MB a second time. */
async function npmCi(cwd: string): Promise<void> {
  const npm = spawn("npm", ["ci", "--ignore-scripts", "--include=optional"], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [npm.stdout, npm.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    npm.once("error", reject).once("close", resolve);
  });
  if (code !== 0) throw new Error(`Cannot install into ${cwd}: npm ci exited ${code}\n${output}`);
}

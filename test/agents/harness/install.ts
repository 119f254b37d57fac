import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGE = "@anthropic-ai/claude-code";
const PIN = fileURLToPath(new URL("../claude-code/", import.meta.url));
const PIN_FILES = ["package.json", "package-lock.json", ".npmrc"];

/**
 * Installs the pinned Claude Code, unless the cache has it, and returns the path of its binary.
 *
 * The cache is `$OMNI_DEV_TEST_CACHE`, else `omni-dev-tests` in the user's cache folder: 400 MB
 * are too much for every clone. Runs at the same time may share it.
 */
export async function installClaude(): Promise<string> {
  const version = await pinnedVersion();
  const cache = cacheFolder();
  const home = join(cache, `claude-code-${version}`);
  const cached = binaryIn(home);
  if (cached) return cached;

  await mkdir(cache, { recursive: true });
  const staging = await mkdtemp(`${home}.`);
  try {
    for (const file of PIN_FILES) await copyFile(join(PIN, file), join(staging, file));
    await npmCi(staging);
    if (!binaryIn(staging)) throw new Error(`npm installed no Claude Code binary: ${staging}`);
    await publish(staging, home);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  const installed = binaryIn(home);
  if (!installed) throw new Error(`Cannot find the Claude Code binary: ${home}`);
  return installed;
}

/** Reads the version of Claude Code that the tests are pinned to. */
export async function pinnedVersion(): Promise<string> {
  const pin: unknown = JSON.parse(await readFile(join(PIN, "package.json"), "utf8"));
  const version = (pin as { dependencies?: Record<string, string> }).dependencies?.[PACKAGE];
  if (!version) throw new Error(`Cannot read the pinned version: ${PIN}package.json`);
  return version;
}

function cacheFolder(): string {
  const { OMNI_DEV_TEST_CACHE, XDG_CACHE_HOME } = process.env;
  return OMNI_DEV_TEST_CACHE || join(XDG_CACHE_HOME || join(homedir(), ".cache"), "omni-dev-tests");
}

/** npm installs the platform package that fits, so the one that is there is the right one. */
function binaryIn(home: string): string | undefined {
  const platform = `${process.platform}-${process.arch}`;
  return [platform, `${platform}-musl`]
    .map((name) => join(home, "node_modules", `${PACKAGE}-${name}`, "claude"))
    .find((path) => existsSync(path));
}

/** Moves a finished install into place. Another run may have been faster: then its one stays. */
async function publish(staging: string, home: string): Promise<void> {
  try {
    await rename(staging, home);
  } catch (cause) {
    if (!binaryIn(home)) throw new Error(`Cannot move the install into place: ${home}`, { cause });
  }
}

/** Without its install script, which would only copy the 400 MB binary a second time. */
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
  if (code !== 0) throw new Error(`Cannot install ${PACKAGE}: npm ci exited ${code}\n${output}`);
}

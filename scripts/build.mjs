// Installs what is missing and builds dist/ from src/. `start` and `test` use its functions; run by
// itself it builds, whatever is there already.
import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = path.resolve(import.meta.dirname, "..");
const dist = path.join(root, "dist");
const piExtension = "extensions/pi/omni-dev-sessions.ts";
const SOURCES_HASH = ".sources";

/** What is run by its name: all else is loaded by it. */
const programs = ["bin.cjs", "omni-dev.js"];

/** The commands. */
export const entry = path.join(dist, "omni-dev.js");

const QUIET_MS = 1000;
const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
const json = (name) => JSON.parse(readFileSync(path.join(root, name), "utf8"));

/** Installs the packages of package-lock.json unless exactly these are there. */
export async function install() {
  if (isInstalled()) return;
  process.stderr.write("Installing packages (npm ci) …\n");
  // A production environment leaves out the tools that everything here is built and tested with.
  const npmCi = ["ci", "--include=dev", "--include=optional", "--prefer-offline"];
  const { status, output } = await run("npm", npmCi, { env: process.env, quiet: true });
  if (status !== 0) throw new Failed(`${output}Cannot install packages: npm ci failed.`, status);
}

/** npm writes its own list last, so what stands in it is there. */
function isInstalled() {
  const own = path.join(root, "node_modules", ".package-lock.json");
  if (!existsSync(own)) return false;
  const there = JSON.parse(readFileSync(own, "utf8")).packages;
  const wanted = Object.entries(json("package-lock.json").packages).filter(
    ([name, { link }]) => name.includes("node_modules/") && !link,
  );
  const names = new Set(wanted.map(([name]) => name));
  return (
    wanted.every(([name, { version, integrity, ...more }]) => {
      const found = there[name];
      if (!found) return !isForHere(more);
      return found.version === version && found.integrity === integrity;
    }) && Object.entries(there).every(([name, { link }]) => link || names.has(name))
  );
}

/** Packages for other systems are in the lock too; which C library is used only npm finds out. */
const isForHere = ({ os, cpu, libc }) =>
  !libc && (!os || os.includes(process.platform)) && (!cpu || cpu.includes(process.arch));

/** Builds when dist/ was not built from the sources as they are. */
export async function buildIfStale() {
  const hash = path.join(dist, SOURCES_HASH);
  const fresh =
    existsSync(entry) && existsSync(hash) && readFileSync(hash, "utf8") === hashOfSources();
  if (!fresh) await build();
}

/** Bundles every program in src/bin into dist/, with the packages it uses and their licences. */
export async function build() {
  const note = setTimeout(() => process.stderr.write("Building …\n"), QUIET_MS);
  const hash = hashOfSources();
  const esbuild = await import("esbuild");
  const common = {
    absWorkingDir: root,
    outdir: "dist",
    bundle: true,
    platform: "node",
    target: "node20.19",
    // Some packages' CommonJS form loads its parts in a way that no bundler follows.
    mainFields: ["module", "main"],
    legalComments: "none",
    logLevel: "warning",
    metafile: true,
    write: false,
  };
  const commands = await esbuild.build({
    ...common,
    entryPoints: ["src/bin/omni-dev.ts"],
    splitting: true,
    format: "esm",
    chunkNames: "[name]-[hash]",
    define: { __OMNI_DEV_VERSION__: JSON.stringify(json("package.json").version) },
    // A CommonJS package asks for Node's own modules with `require`, which ESM does not have.
    banner: {
      js: `import { createRequire as omniDevRequire } from "node:module";\nconst require = omniDevRequire(import.meta.url);`,
    },
  });
  // Small files, in the form that Node starts fastest.
  const small = await esbuild.build({
    ...common,
    entryPoints: ["src/bin/hook.ts", "src/bin/claude-wrap.ts"],
    format: "cjs",
    minify: true,
    outExtension: { ".js": ".cjs" },
  });
  await esbuild.stop();
  clearTimeout(note);
  // While these listen, a signal waits until the files are in place.
  for (const signal of signals) process.once(signal, stop);
  replaceDist([
    ...[...commands.outputFiles, ...small.outputFiles].map(({ path: file, contents }) => ({
      name: path.relative(dist, file),
      contents,
      mode: programs.includes(path.basename(file)) ? 0o755 : 0o644,
    })),
    { name: "bin.cjs", contents: readFileSync(path.join(root, "src/bin/bin.cjs")), mode: 0o755 },
    // As it is: the installer fills in the socket, and people read it where it is installed.
    { name: "pi-extension.ts", contents: readFileSync(path.join(root, piExtension)), mode: 0o644 },
    { name: "THIRD-PARTY-LICENSES", contents: licencesOf(commands.metafile), mode: 0o644 },
    { name: SOURCES_HASH, contents: hash, mode: 0o644 },
  ]);
  await new Promise(setImmediate);
  for (const signal of signals) process.off(signal, stop);
}

/**
 * Puts files in dist/ in one step, so that a program that starts meanwhile, or another build, finds
 * the old ones or the new ones. The same files are left alone: a running program may still load some.
 */
function replaceDist(files) {
  if (isSame(files)) return;
  const fresh = path.join(root, `.dist-${randomUUID()}`);
  const old = `${fresh}-old`;
  mkdirSync(fresh);
  for (const { name, contents, mode } of files) {
    writeFileSync(path.join(fresh, name), contents);
    chmodSync(path.join(fresh, name), mode);
  }
  for (;;) {
    if (existsSync(dist)) unlessLost(() => renameSync(dist, old));
    if (unlessLost(() => renameSync(fresh, dist))) break;
    rmSync(old, { recursive: true, force: true });
  }
  rmSync(old, { recursive: true, force: true });
}

/** Does one rename; false when another build was faster. */
function unlessLost(rename) {
  try {
    rename();
    return true;
  } catch (error) {
    if (["ENOENT", "ENOTEMPTY", "EEXIST"].includes(error.code)) return false;
    throw error;
  }
}

function isSame(files) {
  if (!existsSync(dist)) return false;
  const there = readdirSync(dist);
  return (
    there.length === files.length &&
    files.every(({ name, contents }) => {
      const file = path.join(dist, name);
      return existsSync(file) && readFileSync(file).equals(Buffer.from(contents));
    })
  );
}

/** The licence of every package that has code in the bundle; a package without one is refused. */
function licencesOf({ inputs }) {
  const folders = Object.keys(inputs).map(
    (file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0],
  );
  const texts = [...new Set(folders)]
    .filter((folder) => folder !== undefined)
    .sort()
    .map((folder) => {
      const { name, version, license } = json(path.join(folder, "package.json"));
      const file = readdirSync(path.join(root, folder)).find((it) => /^licen[cs]e/i.test(it));
      if (!file) throw new Failed(`Cannot bundle ${name}: it has no licence text.`);
      const text = readFileSync(path.join(root, folder, file), "utf8").trim();
      return `${name} ${version} (${license})\n\n${text}\n`;
    });
  return `omni-dev contains these packages.\n\n${texts.join(`\n${"-".repeat(80)}\n\n`)}`;
}

function hashOfSources() {
  const hash = createHash("sha256");
  const others = ["package.json", "package-lock.json", "scripts/build.mjs", piExtension];
  const files = [...others, ...filesIn("src")];
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(path.join(root, file)));
  return hash.digest("hex");
}

const filesIn = (folder) =>
  readdirSync(path.join(root, folder), { withFileTypes: true })
    .flatMap((item) => {
      const name = `${folder}/${item.name}`;
      if (item.isDirectory()) return filesIn(name);
      return /\.(ts|cjs)$/.test(name) && !name.endsWith(".test.ts") ? [name] : [];
    })
    .sort();

/** A step that did not work, in words. */
export class Failed extends Error {
  constructor(message, status = 1) {
    super(message);
    this.status = status;
  }
}

/**
 * Runs a program to its end and returns its status, and what it said if it was to be `quiet`.
 *
 * Ctrl-C reaches a program by itself, for it belongs to the same terminal.
 */
export async function run(command, args, { env = environment(), quiet = false } = {}) {
  const stdio = quiet ? ["ignore", "pipe", "pipe"] : "inherit";
  const child = spawn(command, args, { cwd: root, env, stdio });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  const passOn = (signal) => signal === "SIGINT" || child.kill(signal);
  for (const signal of signals) process.on(signal, passOn);
  const status = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? 1));
  });
  for (const signal of signals) process.off(signal, passOn);
  return { status, output };
}

/** Our own without the variable that makes Node read more certificates: it triples Node 20's start. */
function environment() {
  const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env;
  return env;
}

const stop = () => process.exit(1);

/** Runs a script's steps; the first that fails ends it with its words and status. */
export async function main(steps) {
  try {
    await steps();
  } catch (error) {
    process.stderr.write(`${error instanceof Failed ? error.message : error.stack}\n`);
    process.exit(error instanceof Failed ? error.status : 1);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await main(async () => {
    await install();
    await build();
  });

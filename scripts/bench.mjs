// Runs a bench that is written in TypeScript: `bench.mjs truth [arguments]` is bench/truth/main.ts.
import { mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { install, root } from "./build.mjs";

const [name = "", ...args] = process.argv.slice(2);
await install();
// Below the project, so that what is not bundled is found.
const folder = mkdtempSync(path.join(root, "node_modules", ".omni-dev-bench-"));
try {
  const outfile = path.join(folder, "main.mjs");
  await build({
    entryPoints: [path.join(root, "bench", name, "main.ts")],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    packages: "external",
    logLevel: "warning",
  });
  process.chdir(root);
  process.argv.splice(2, process.argv.length, ...args);
  await import(pathToFileURL(outfile).href);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

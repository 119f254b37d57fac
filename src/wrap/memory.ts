/** The newest Node in which this was tried. */
const NEWEST_MAJOR = 24;

/**
 * Keeps the young generation of the heap small. Every piece that is read is a small object with a
 * large buffer outside of the heap: collected late, dead buffers come to twice of what Node itself
 * needs. The shim says the same with `--max-semi-space-size=1`.
 */
export function keepHeapSmall(): void {
  const [major = ""] = process.versions.node.split(".");
  if (process.execArgv.length > 0 || Number(major) > NEWEST_MAJOR) return;
  process.getBuiltinModule("node:v8").setFlagsFromString("--semi-space-growth-factor=1");
}

import { execFileSync } from "node:child_process";
import path from "node:path";
import { expect, test } from "vitest";

type Block = { wall: number; cpu: number };

/**
 * The bench in small. A machine that is busy makes starting processes dearer than running them, so
 * the best round is the one that tells what the code costs; and what is wanted (a fifth, and a tenth
 * more) has some room here, for it is measured beside other tests. One more process, or one module
 * loaded, is far outside of it.
 */
test("a hook costs about a fifth of starting Node, and the sink about as much as that start", () => {
  const names = ["node -e 0", "hook (perl)", "sink alone"];
  const only = names.flatMap((name) => ["--only", name]);
  const args = ["bench/hook.mjs", "--json", "--rounds", "5", "--calls", "15", ...only];
  const results: Record<string, Block[]> = JSON.parse(
    execFileSync(process.execPath, args, {
      cwd: path.resolve(import.meta.dirname, ".."),
      encoding: "utf8",
    }),
  );
  const best = (name: string) => {
    const ratios = results[name]?.map(({ cpu }, i) => cpu / (results["node -e 0"]?.[i]?.cpu ?? 0));
    return Math.min(...(ratios ?? []));
  };
  expect(best("sink alone")).toBeLessThan(1.3);
  // Where there is no perl, nothing here is as cheap.
  if (results["hook (perl)"]) expect(best("hook (perl)")).toBeLessThan(0.3);
}, 120_000);

import { parseArgs } from "node:util";
import { modes, runBench, summarise } from "./bench.ts";

const { values } = parseArgs({
  options: {
    captures: { type: "string", default: "test/fixtures" },
    faults: { type: "boolean", default: false },
  },
});
const results = await runBench(values.captures);
const summaries = Object.fromEntries(modes.map((mode) => [mode, summarise(results, mode)]));
process.stdout.write(`${JSON.stringify(summaries)}\n`);

const percent = (share: number) => `${(share * 100).toFixed(2)} %`;
const rows = [
  ["mode", "scenarios", "wrong", "outside silent", "stuck", "outside", "p50", "p95", "worst"],
  ...modes.map((mode) => {
    const it = summaries[mode] ?? summarise([], mode);
    return [
      mode,
      String(it.scenarios),
      percent(it.wrong_share),
      percent(it.wrong_share_outside_silent),
      String(it.stuck),
      String(it.stuck_outside_silent),
      `${it.p50_latency_ms} ms`,
      `${it.p95_latency_ms} ms`,
      it.worst_scenario ?? "-",
    ];
  }),
];
const widths = rows[0]?.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0))) ?? [];
for (const row of rows)
  process.stderr.write(
    `${row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join("  ")
      .trimEnd()}\n`,
  );
if (values.faults) {
  for (const { name, mode, scores } of results)
    for (const { faults } of scores)
      for (const { at, ms, truth, shown, isSilent } of faults)
        process.stderr.write(
          `${mode} ${name} at ${at}: ${ms} ms ${shown}, but ${truth}${isSilent ? " (silent)" : ""}\n`,
        );
}

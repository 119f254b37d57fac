import { readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";

const { version } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));

export default defineConfig({
  define: { __OMNI_DEV_VERSION__: JSON.stringify(version) },
  test: {
    include: ["src/**/*.test.ts", "extensions/**/*.test.ts", "test/*.test.ts"],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});

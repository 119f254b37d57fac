import { defineConfig } from "vitest/config";

/** Real agents, one file at a time: each test runs a 400 MB program on a small machine. */
export default defineConfig({
  test: {
    include: ["test/agents/**/*.test.ts"],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    fileParallelism: false,
  },
});

#!/usr/bin/env node
// A hook runs on every tool call of an agent: it must not wait for the commands to load.
const [group, command] = process.argv.slice(2);
if (group === "sessions" && command === "hook" && !/^-(h|-help)$/.test(process.argv[4]))
  require("./hook.cjs");
else import("./omni-dev.js");

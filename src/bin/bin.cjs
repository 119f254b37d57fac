#!/usr/bin/env node
// A hook runs on every tool call of an agent, a wrapper stands before every start of one: neither
// must wait for the commands to load.
const [group, command] = process.argv.slice(2);
const isHelp = (word) => /^-(h|-help)$/.test(word);
if (group === "sessions" && command === "hook" && !isHelp(process.argv[4])) require("./hook.cjs");
else if (group === "claude-wrap" && !isHelp(command)) require("./claude-wrap.cjs");
else import("./omni-dev.js");

// Shows the sessions of this machine, live: installs and builds what is missing, then runs
// `omni-dev sessions watch` in this process, with the arguments given after `npm start --`.
import { pathToFileURL } from "node:url";
import { buildIfStale, entry, install, main } from "./build.mjs";

await main(async () => {
  await install();
  await buildIfStale();
});
process.argv = [process.execPath, entry, "sessions", "watch", ...process.argv.slice(2)];
await import(pathToFileURL(entry));

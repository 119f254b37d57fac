// Keeps one lab alive: runs inside the lab's network namespace, serves the fake model there, and
// clears up when its standard input ends. That happens on stop() and whenever the test run dies,
// however hard, so no agent, tmux server or temporary folder outlives it.
//
//   keeper.mjs <lab folder> <port>
import { appendFileSync, readdirSync, readlinkSync, rmdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { startFakeModel } from "../fake-model/server.mjs";

const [dir, port] = process.argv.slice(2);
const namespace = readlinkSync("/proc/self/ns/net");

/** Every process that holds this namespace but the keeper: all of them were started by the lab. */
function inmates() {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/ns/net`) === namespace;
      } catch {
        return false; // gone since, or another user's
      }
    })
    .map(Number);
}

async function endInmates() {
  // Repeated, since a process may fork before its own turn comes, and takes a moment to die.
  for (let pids = inmates(); pids.length > 0; pids = inmates()) {
    for (const pid of pids) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {} // gone since
    }
    await pause(20);
  }
}

/** Codex's daemon keeps its sockets outside, in a folder of all its homes, and links to them. */
function removeCodexSockets() {
  const sockets = readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isSymbolicLink())
    .map((entry) => readlinkSync(join(entry.parentPath, entry.name)))
    .filter((target) => /^\/tmp\/codex-daemon-\d+$/.test(dirname(target)));
  for (const socket of sockets) {
    for (const file of [socket, `${socket}.lock`]) rmSync(file, { force: true });
    try {
      rmdirSync(dirname(socket));
    } catch {} // there are others in it, or it is gone already
  }
}

async function clearUp() {
  await endInmates();
  removeCodexSockets();
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  process.exit(0);
}

process.stdin.on("end", clearUp).on("error", clearUp).resume();
await startFakeModel({
  port: Number(port),
  onRequest: (entry) => appendFileSync(join(dir, "requests.ndjson"), `${JSON.stringify(entry)}\n`),
});
process.stdout.write("ready\n");

import { randomUUID } from "node:crypto";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { launcherText, type Sender } from "../hook/launcher.ts";
import type { Host } from "../platform/paths.ts";
import { isProgram, onPath } from "./programs.ts";
import { runBriefly } from "./run-briefly.ts";

/** One sender that was tried, and what was wrong with it. */
export type Attempt = { sender: Sender; problem?: string };

/** What `findSender` found: the first that works, and all that were tried up to it. */
export type Probe = { sender: Sender | undefined; attempts: Attempt[] };

/** A launcher ends within a second by itself; this is for a machine that is busy as well. */
const RUN_TIMEOUT_MS = 5000;

/** What a launcher may take that nobody answers; `nc` counts in whole seconds. */
const STALL_LIMIT_MS = 2500;

/**
 * Finds the first sender that works on this machine, by really sending with it. What it must do:
 * deliver every byte, exit 0, print nothing, and come to an end by itself when nobody answers.
 *
 * @param senders  Best first; see `sendersOf`.
 */
export async function findSender(senders: readonly Sender[], host: Host): Promise<Probe> {
  const attempts: Attempt[] = [];
  for (const sender of senders) {
    const problem = await problemWith(sender, host);
    attempts.push(problem ? { sender, problem } : { sender });
    if (!problem) return { sender, attempts };
  }
  return { sender: undefined, attempts };
}

/** nc's kinds differ in how they close their side, and in what bounds them. */
const ncFlags = [["-U", "-N", "-w", "1"], ["-U", "-w", "1"], ["-U", "-N"], ["-U"]];

/**
 * Lists what may send here, the cheapest first: perl, nc in each of its kinds, Node.
 *
 * @param node  The program and the file of the sink.
 */
export function sendersOf(host: Host, node: { path: string; sink: string }): Sender[] {
  // A system's own perl first: one that is only on PATH may be a version manager's slow front.
  const perls = unique(["/usr/bin/perl", ...onPath("perl", host)]).filter(isProgram);
  const ncs = unique(["/usr/bin/nc", ...onPath("nc", host)]).filter(isProgram);
  return [
    ...perls.map((it): Sender => ({ kind: "perl", path: it })),
    ...ncs.flatMap((it) => ncFlags.map((flags): Sender => ({ kind: "nc", path: it, flags }))),
    { kind: "node", ...node },
  ];
}

async function problemWith(sender: Sender, host: Host): Promise<string | undefined> {
  return inScratch(host, async (folder) => {
    const socketPath = path.join(folder, "s");
    const launcher = path.join(folder, "hook");
    fs.writeFileSync(launcher, launcherText({ sender, socketPath }));
    const { OMNI_DEV_SOCKET: _, ...env } = host.env;
    const command = { file: "/bin/sh", args: [launcher], env };
    return (await deliveryProblem(command, socketPath)) ?? stallProblem(command, socketPath);
  });
}

type Command = { file: string; args: readonly string[]; env: NodeJS.ProcessEnv };

/** Runs a hook command as Claude does, against a socket of its own, and says what was wrong. */
export function commandProblem(command: string, host: Host): Promise<string | undefined> {
  return inScratch(host, (folder) => {
    const socketPath = path.join(folder, "s");
    const env = { ...host.env, OMNI_DEV_SOCKET: socketPath };
    return deliveryProblem({ file: "/bin/sh", args: ["-c", command], env }, socketPath);
  });
}

async function deliveryProblem(command: Command, socketPath: string): Promise<string | undefined> {
  const payload = `{"probe":"${randomUUID()}"}`;
  const received: Buffer[] = [];
  const problem = await withListener(socketPath, answer(received), () => run(command, payload));
  if (problem) return problem;
  const text = Buffer.concat(received).toString();
  const isWhole = /^\{[^\n]*\}\n/.test(text) && text.slice(text.indexOf("\n") + 1) === payload;
  return isWhole ? undefined : "did not deliver what it was given";
}

async function stallProblem(command: Command, socketPath: string): Promise<string | undefined> {
  const ignore = (socket: net.Socket) => socket.pause();
  const start = performance.now();
  const problem = await withListener(socketPath, ignore, () => run(command, "{}"));
  if (problem) return problem;
  const tookMs = performance.now() - start;
  return tookMs > STALL_LIMIT_MS ? "waits for a daemon that does not answer" : undefined;
}

async function run({ file, args, env }: Command, input: string): Promise<string | undefined> {
  const { status, output } = await runBriefly(file, args, {
    env,
    timeoutMs: RUN_TIMEOUT_MS,
    input,
  });
  if (status === undefined) return "does not end";
  if (status !== 0) return `exits with status ${status}`;
  return output === "" ? undefined : "prints something";
}

/** Takes all that comes, and answers at its end as the daemon does. */
const answer = (received: Buffer[]) => (socket: net.Socket) => {
  socket.on("data", (bytes) => received.push(bytes));
  socket.on("end", () => socket.end('{"ok":true,"payload":{"ok":true}}\n'));
};

async function withListener<T>(
  socketPath: string,
  serve: (socket: net.Socket) => void,
  use: () => Promise<T>,
): Promise<T> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket.on("error", () => {})); // the other end may be gone
    serve(socket);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(socketPath, resolve);
  });
  try {
    return await use();
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** Room that a socket's name needs behind the temporary directory. */
const LONGEST_BASE = 80;

/** Lends a directory; a very long TMPDIR has no room for a socket's name. */
async function inScratch<T>({ tmpDir }: Host, use: (folder: string) => Promise<T>): Promise<T> {
  const base = tmpDir.length <= LONGEST_BASE ? tmpDir : "/tmp";
  const folder = fs.mkdtempSync(path.join(base, "omni-dev-"));
  try {
    return await use(folder);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

const unique = (files: readonly string[]) => [...new Set(files)];

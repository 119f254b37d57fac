import { fstatSync, readSync } from "node:fs";
import {
  headerVariables,
  MAX_PAYLOAD_BYTES,
  MAX_WORD_LENGTH,
  PLAIN_CHARACTERS,
  REPLY_PATIENCE_MS,
  SEND_PATIENCE_MS,
  STDIN_PATIENCE_MS,
} from "./header.ts";
import { openTransport, type Transport } from "./transport.ts";

/**
 * Hands one hook call to the daemon: the launcher in Node, where nothing smaller can do it.
 *
 * It prints nothing and exits 0, whatever happens. Node's own start is nearly all that it costs, so
 * it loads nothing that Node has not loaded by then, and leaves without tidying up.
 *
 * @param args  `--agent NAME` and `--socket PATH`; anything else is ignored.
 * @param socketFor  Chooses the socket, given the flag's value; undefined when it cannot be used.
 */
export function runSink(
  args: readonly string[],
  socketFor: (flag: string | undefined) => string | undefined,
): void {
  process.setUncaughtExceptionCaptureCallback(leave);
  const agent = optionOf(args, "--agent") ?? "claude";
  const transport = openTransport();
  readInput(transport, (payload) => {
    const socket = socketFor(optionOf(args, "--socket"));
    if (!payload || !socket || !/^[a-z][a-z0-9-]{0,31}$/.test(agent)) return leave();
    patience(SEND_PATIENCE_MS);
    transport.exchange(socket, Buffer.concat([Buffer.from(header(agent)), payload]), {
      progress: (isAll) => patience(isAll ? REPLY_PATIENCE_MS : SEND_PATIENCE_MS),
      done: leave,
    });
  });
}

/** Ends the process at once: the ordinary way out takes as long as all that was done before it. */
function leave(): never {
  return (process as unknown as { reallyExit(code: number): never }).reallyExit(0);
}

let timer: NodeJS.Timeout | undefined;

/** Leaves when nothing more happens for this long. */
function patience(ms: number): void {
  clearTimeout(timer);
  timer = setTimeout(leave, ms);
}

function optionOf(args: readonly string[], flag: string): string | undefined {
  const at = args.indexOf(flag);
  if (at >= 0) return args[at + 1];
  return args.find((arg) => arg.startsWith(`${flag}=`))?.slice(flag.length + 1);
}

/** Reads standard input to its end: undefined when there is nothing in it, or too much. */
function readInput(transport: Transport, done: (payload: Buffer | undefined) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  const take = (chunk: Buffer) => {
    size += chunk.length;
    if (size <= MAX_PAYLOAD_BYTES) chunks.push(chunk);
  };
  const end = () =>
    done(size > 0 && size <= MAX_PAYLOAD_BYTES ? Buffer.concat(chunks, size) : undefined);
  const input = fstatSync(0);
  if (input.isFIFO() || input.isSocket()) {
    patience(STDIN_PATIENCE_MS);
    transport.readStdin((chunk) => {
      patience(STDIN_PATIENCE_MS);
      if (chunk) take(chunk);
      else end();
    });
  } else if (input.isFile()) {
    let got: number;
    do {
      const chunk = Buffer.allocUnsafe(65_536);
      got = readSync(0, chunk);
      take(chunk.subarray(0, got));
    } while (got > 0);
    end();
  } else {
    done(undefined); // a terminal would be waited for, and a device need not end
  }
}

/** The header line; header.ts tells what is in it. */
function header(agent: string): string {
  const { env } = process;
  const plain = new RegExp(`^[${PLAIN_CHARACTERS}]{1,${MAX_WORD_LENGTH}}$`);
  const words: Record<string, string> = {};
  const add = (name: string, value: string | undefined) => {
    if (value !== undefined && plain.test(value)) words[name] = value;
  };
  add("tmux_socket", env.TMUX?.replace(/,[^,]*,[^,]*$/, ""));
  for (const name of headerVariables) add(name.toLowerCase(), env[name]);
  const pid = agent === "claude" && env.CLAUDE_PID;
  const payload = {
    agent,
    ...(pid && /^[1-9][0-9]{0,9}$/.test(pid) ? { pid: Number(pid) } : {}),
    ppid: process.ppid,
    ...(env.GROK_SESSION_ID ? { grok: true } : {}),
    env: words,
  };
  return `${JSON.stringify({ service: "sessions", op: "hook", payload })}\n`;
}

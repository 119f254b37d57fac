import type { Clock } from "../platform/clock.ts";
import { LEAVE, Screen, type ScreenOut } from "./screen.ts";
import type { World } from "./world.ts";

export type Key = "quit" | "suspend" | "redraw";

const keys = new Map<string, Key>([
  ["q", "quit"],
  ["\x03", "quit"], // Ctrl-C
  ["\x1a", "suspend"], // Ctrl-Z
  ["\x0c", "redraw"], // Ctrl-L
]);

/** A job that nobody can continue is not stopped by Ctrl-Z; after this long it is known to run on. */
const STOPPED_MS = 100;

/** A terminal that takes nothing for this long is not waited for on the way out. */
const LEAVE_MS = 1000;

export type TerminalOptions = {
  world: Pick<World, "stdin" | "stdout" | "clock">;
  out: ScreenOut;
  onKey: (key: Key) => void;
  /** Called when all that was drawn is gone, and after each change of size. */
  onStale: () => void;
};

/**
 * Takes the terminal: keys one by one and a screen of its own, until `close` gives it back as it
 * was. A crash gives it back, too.
 */
export function openTerminal({ world, out, onKey, onStale }: TerminalOptions): {
  screen: Screen;
  close: () => Promise<void>;
} {
  const { stdin, stdout, clock } = world;
  const screen = new Screen(out);
  const setRaw = (raw: boolean) => stdin.isTTY && stdin.setRawMode(raw);
  const quit = () => onKey("quit");
  const onData = (chunk: Buffer) => {
    const text = chunk.toString("latin1");
    if (text.startsWith("\x1b")) return; // a key that is not used, or an answer of the terminal
    for (const key of Array.from(text, (char) => keys.get(char))) if (key) onKey(key);
  };
  const resized = () => {
    screen.forget();
    onStale();
  };
  const continued = () => {
    // The shell had the terminal meanwhile, and has set its own mode behind Node's back.
    setRaw(false);
    setRaw(true);
    screen.enter();
    onStale();
  };
  const crashed = () => stdout.write(LEAVE);

  setRaw(true);
  if (stdin.isTTY) stdin.on("data", onData).on("end", quit).on("error", quit).resume();
  stdout.on("resize", resized);
  process.on("SIGCONT", continued);
  process.prependListener("uncaughtException", crashed);
  screen.enter();

  const close = async () => {
    if (stdin.isTTY) stdin.off("data", onData).off("end", quit).off("error", quit).pause();
    stdout.off("resize", resized);
    process.off("SIGCONT", continued);
    const left = new AbortController();
    const tooLate = new Promise<"late">((resolve) =>
      clock.after(LEAVE_MS, () => resolve("late"), left.signal),
    );
    // A terminal that takes nothing would block the change of its mode; Node's exit resets that, too.
    if ((await Promise.race([screen.leave(), tooLate])) !== "late") setRaw(false);
    left.abort();
    process.off("uncaughtException", crashed);
  };
  return { screen, close };
}

/**
 * Stops this job and all that belongs to it, as Ctrl-Z does; resolves when it goes on. A program
 * without a shell to go back to goes on at once.
 */
export function stopJob(clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const over = new AbortController();
    const goOn = () => {
      process.off("SIGCONT", goOn);
      over.abort();
      resolve();
    };
    process.on("SIGCONT", goOn);
    clock.after(STOPPED_MS, goOn, over.signal);
    process.kill(0, "SIGTSTP");
  });
}

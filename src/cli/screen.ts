const ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l"; // alternate screen, no cursor, no wrapping
/** Gives a terminal back: wrapping, its cursor, and the screen from before. */
export const LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l";
const CLEAR = "\x1b[2J";
// A terminal that knows this shows all of it at once; others ignore it.
const HOLD = "\x1b[?2026h";
const SHOW = "\x1b[?2026l";

/** Sends text to a terminal and calls `done` when it has taken it. */
export type ScreenOut = (text: string, done: () => void) => void;

/**
 * A full screen of lines that writes only those that changed.
 *
 * A terminal that is slow gets the newest lines when it has taken the last ones, and nothing of
 * what was drawn in between.
 */
export class Screen {
  readonly #out: ScreenOut;
  #shown: readonly string[] | undefined;
  #wanted: readonly string[] | undefined;
  #modes = "";
  #busy = false;
  #onTaken: (() => void) | undefined;

  constructor(out: ScreenOut) {
    this.#out = out;
  }

  /** Takes the alternate screen; what was there before comes back with `leave`. */
  enter(): void {
    this.forget();
    this.#modes += ENTER;
    this.#flush();
  }

  /** Resolves when the terminal has taken everything. */
  leave(): Promise<void> {
    this.#wanted = undefined;
    this.#modes += LEAVE;
    const taken = new Promise<void>((resolve) => {
      this.#onTaken = resolve;
    });
    this.#flush();
    return taken;
  }

  /** Makes the next drawing a whole one: the terminal was resized or somebody else wrote on it. */
  forget(): void {
    this.#shown = undefined;
  }

  draw(lines: readonly string[]): void {
    this.#wanted = lines;
    this.#flush();
  }

  #flush(): void {
    if (this.#busy) return;
    const text = this.#modes + this.#changes();
    this.#modes = "";
    if (text === "") {
      this.#onTaken?.();
      return;
    }
    this.#busy = true;
    this.#out(text, () => {
      this.#busy = false;
      this.#flush();
    });
  }

  #changes(): string {
    const lines = this.#wanted;
    if (!lines) return "";
    const shown = this.#shown;
    const count = Math.max(lines.length, shown?.length ?? 0);
    let text = shown ? "" : CLEAR;
    for (let y = 0; y < count; y++) {
      const line = lines[y] ?? "";
      // The line is cleared first: behind a full line, clearing to its end takes the last cell.
      if (line !== (shown?.[y] ?? "")) text += `\x1b[${y + 1};1H\x1b[K${line}`;
    }
    this.#shown = lines;
    return text && HOLD + text + SHOW;
  }
}

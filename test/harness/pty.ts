import { type IPty, spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";
import { onTestFinished } from "vitest";
import { News, type Program } from "./program.ts";

export type TerminalOptions = { cwd?: string; columns?: number; rows?: number };

/** A terminal with one program in it, as a person sees and uses it. It closes when the test ends. */
export class Terminal {
  /** Resolves with the program's exit status when that is over and all its output is shown. */
  readonly ended: Promise<number>;
  readonly #pty: IPty;
  readonly #xterm: xterm.Terminal;
  readonly #news = new News();
  #hasCursor = true;
  #isOver = false;

  /** @param argv  The program, found by the user's PATH, and its arguments. */
  constructor(user: Program, [file = "", ...args]: string[], options: TerminalOptions = {}) {
    const { cwd = user.home, columns: cols = 80, rows = 24 } = options;
    this.#xterm = new xterm.Terminal({ cols, rows, allowProposedApi: true });
    for (const final of ["h", "l"])
      this.#xterm.parser.registerCsiHandler({ prefix: "?", final }, (params) => {
        if (params.includes(25)) this.#hasCursor = final === "h";
        return false; // the terminal's own handler is next
      });
    this.#pty = spawn(file, args, { cols, rows, cwd, env: user.env, name: user.env.TERM ?? "" });
    this.#pty.onData((text) => this.#xterm.write(text, () => this.#news.tell()));
    this.#xterm.onData((answer) => this.#pty.write(answer));
    this.ended = new Promise((resolve) => {
      this.#pty.onExit(({ exitCode, signal }) => {
        this.#isOver = true;
        this.#xterm.write("", () => resolve(signal ? 128 + signal : exitCode));
      });
    });
    onTestFinished(async () => {
      if (!this.#isOver) this.#pty.kill("SIGKILL");
      await this.ended;
      this.#xterm.dispose();
    });
  }

  get pid(): number {
    return this.#pty.pid;
  }

  /** What is to be seen, without the blanks at the end of lines. */
  screen(): string {
    const { active } = this.#xterm.buffer;
    const line = (y: number) => active.getLine(active.baseY + y)?.translateToString(true) ?? "";
    return Array.from({ length: this.#xterm.rows }, (_, y) => line(y)).join("\n");
  }

  /** The modes that a full-screen program changes, and has to give back. */
  modes(): { screen: "normal" | "alternate"; cursor: boolean; wrap: boolean } {
    const { buffer, modes } = this.#xterm;
    return { screen: buffer.active.type, cursor: this.#hasCursor, wrap: modes.wraparoundMode };
  }

  /** Waits until the screen shows this. */
  async shows(text: string | RegExp): Promise<void> {
    const isShown = () =>
      (typeof text === "string" ? this.screen().includes(text) : text.test(this.screen())) ||
      undefined;
    await this.#news.until(isShown, () => `${this.screen()}\ninstead of ${text}`);
  }

  /** Types keys as a terminal sends them: Enter is `\r`, Ctrl-C `\x03`. */
  type(keys: string): void {
    this.#pty.write(keys);
  }

  resize(columns: number, rows = this.#xterm.rows): void {
    this.#xterm.resize(columns, rows);
    this.#pty.resize(columns, rows);
  }

  /** Closes the window: the program loses its terminal, and is told so by SIGHUP. */
  close(): void {
    (this.#pty as IPty & { destroy(): void }).destroy();
  }
}

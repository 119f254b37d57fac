import type { Terminal } from "./terminal.ts";

const DIALOG_MS = 3000;
const DIALOG_TRIES = 5;

/** Types a prompt or a slash command and presses Enter. */
export async function submit(terminal: Terminal, text: string): Promise<void> {
  // Enter goes alone and only once the text shows: sent together they count as a paste.
  await terminal.type(text);
  await terminal.key("Enter");
}

/**
 * Answers the dialog that shows `text` with these keys, and waits until it is gone. A dialog may
 * take no keys in its first moments, so as not to be answered by mistake: they are pressed again then.
 */
export async function answer(terminal: Terminal, text: string, keys: string[]): Promise<void> {
  await terminal.waitForScreen(text);
  for (let tries = 1; ; tries += 1) {
    for (const key of keys) await terminal.key(key);
    try {
      await terminal.waitForScreen((screen) => !screen.includes(text), DIALOG_MS);
      return;
    } catch (error) {
      if (tries === DIALOG_TRIES) throw error;
    }
  }
}

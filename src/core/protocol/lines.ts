const NEWLINE = 10;

/**
 * Cuts a stream of bytes into lines, whatever the pieces it arrives in.
 *
 * It is pulled, not pushed: a reader that must treat what follows a line as raw bytes asks for one
 * line and then takes the rest. A line over `maxBytes` (without its line end) gives `"tooLong"`,
 * before more than that is held; nothing can be read after it.
 */
export class LineReader {
  readonly #maxBytes: number;
  #chunks: Uint8Array[] = [];
  #offset = 0;
  #parts: Uint8Array[] = [];
  #partsBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Uint8Array): void {
    if (chunk.length > 0) this.#chunks.push(chunk);
  }

  /** The next whole line without its `\n`, `undefined` while there is none. */
  next(): Uint8Array | "tooLong" | undefined {
    for (;;) {
      const chunk = this.#chunks[0];
      if (!chunk) return undefined;
      const end = chunk.indexOf(NEWLINE, this.#offset);
      const piece = chunk.subarray(this.#offset, end === -1 ? chunk.length : end);
      if (this.#partsBytes + piece.length > this.#maxBytes) return "tooLong";
      this.#parts.push(piece);
      this.#partsBytes += piece.length;
      this.#offset = end === -1 ? chunk.length : end + 1;
      if (this.#offset === chunk.length) {
        this.#chunks.shift();
        this.#offset = 0;
      }
      if (end !== -1) return this.#takeParts();
    }
  }

  /** Everything that came after the last line, and forgets it. */
  takeRest(): Uint8Array[] {
    const head = this.#partsBytes > 0 ? [this.#takeParts()] : [];
    const rest = this.#chunks.map((chunk, i) => (i === 0 ? chunk.subarray(this.#offset) : chunk));
    this.#chunks = [];
    this.#offset = 0;
    return [...head, ...rest];
  }

  #takeParts(): Uint8Array {
    const [only] = this.#parts;
    const line = this.#parts.length === 1 && only ? only : joined(this.#parts, this.#partsBytes);
    this.#parts = [];
    this.#partsBytes = 0;
    return line;
  }
}

function joined(parts: Uint8Array[], bytes: number): Uint8Array {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

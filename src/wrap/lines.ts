const NEWLINE = 10;
const OPENING_BRACE = 0x7b;
const EMPTY = Buffer.alloc(0);

/** Room for the first part of a line that comes in pieces. */
const FIRST_ROOM_BYTES = 16 * 1024;

export type LinesOptions = {
  /** Longer lines are not put together. */
  maxBytes: number;
  /** Beginnings of lines that need not be read while `isQuiet` says so; none is a part of another. */
  quietHeads: readonly Uint8Array[];
  isQuiet: () => boolean;
  /** Gets each other line that may be a JSON object, without its line end; valid during the call. */
  onLine: (line: Buffer) => void;
  /** Gets the beginning of one that is too long. */
  onLongLine: (head: Buffer) => void;
};

/**
 * Cuts out of a stream of bytes the lines that have to be read, whatever the pieces it arrives in.
 *
 * Nearly all lines are told by their first bytes and passed over without a copy. What is held is at
 * most one line of `maxBytes`, and nothing between lines.
 */
export class Lines {
  readonly #options: LinesOptions;
  /** How many bytes tell a line that need not be read. */
  readonly #headBytes: number;
  #held: Buffer | undefined;
  #heldBytes = 0;
  /** The rest of the line is not wanted. */
  #isSkipping = false;

  constructor(options: LinesOptions) {
    this.#options = options;
    this.#headBytes = Math.max(1, ...options.quietHeads.map((head) => head.length));
  }

  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      const end = chunk.indexOf(NEWLINE, at);
      if (end < 0) {
        this.#begin(chunk, at);
        return;
      }
      if (this.#isSkipping) this.#isSkipping = false;
      else if (this.#heldBytes > 0) this.#finish(chunk, at, end);
      else this.#take(chunk, at, end);
      at = end + 1;
    }
  }

  /** The line that is not ended yet: it is held, unless its first bytes say that nobody wants it. */
  #begin(chunk: Buffer, at: number): void {
    if (this.#isSkipping || !this.#hold(chunk, at, chunk.length)) return;
    const held = this.#held as Buffer;
    if (this.#heldBytes >= this.#headBytes && !this.#isWanted(held, 0, this.#heldBytes)) {
      this.#drop();
      this.#isSkipping = true;
    }
  }

  #finish(chunk: Buffer, at: number, end: number): void {
    if (this.#hold(chunk, at, end)) this.#take(this.#held as Buffer, 0, this.#heldBytes);
    this.#isSkipping = false;
    this.#drop();
  }

  /** Adds to what is held; false when that makes it too long, and then nothing is held. */
  #hold(chunk: Buffer, from: number, to: number): boolean {
    const { maxBytes } = this.#options;
    const wanted = this.#heldBytes + to - from;
    const old = this.#held;
    if (wanted > maxBytes) {
      const head = [old?.subarray(0, this.#heldBytes) ?? EMPTY, chunk.subarray(from, to)];
      this.#isSkipping = true;
      this.#drop();
      this.#tellLong(Buffer.concat(head.map((part) => part.subarray(0, this.#headBytes))));
      return false;
    }
    if (!old || old.length < wanted) {
      // A buffer of its own, not a piece of Node's pool; doubled, so that single bytes cost little.
      const room = Math.min(Math.max(wanted, (old?.length ?? 0) * 2, FIRST_ROOM_BYTES), maxBytes);
      this.#held = Buffer.allocUnsafeSlow(room);
      old?.copy(this.#held, 0, 0, this.#heldBytes);
    }
    chunk.copy(this.#held as Buffer, this.#heldBytes, from, to);
    this.#heldBytes = wanted;
    return true;
  }

  #drop(): void {
    this.#held = undefined;
    this.#heldBytes = 0;
  }

  #take(bytes: Buffer, from: number, to: number): void {
    if (to - from > this.#options.maxBytes) this.#tellLong(bytes.subarray(from, to));
    else if (this.#isWanted(bytes, from, to)) this.#options.onLine(bytes.subarray(from, to));
  }

  #tellLong(start: Buffer): void {
    if (!this.#isWanted(start, 0, start.length)) return;
    this.#options.onLongLine(start.subarray(0, this.#headBytes));
  }

  #isWanted(bytes: Buffer, from: number, to: number): boolean {
    if (from === to || bytes[from] !== OPENING_BRACE) return false;
    const { quietHeads, isQuiet } = this.#options;
    return !quietHeads.some((head) => beginsWith(bytes, from, to, head)) || !isQuiet();
  }
}

/** A loop, because calls into native code cost more than these few bytes. */
function beginsWith(bytes: Buffer, from: number, to: number, head: Uint8Array): boolean {
  if (to - from < head.length) return false;
  for (let i = 0; i < head.length; i++) if (bytes[from + i] !== head[i]) return false;
  return true;
}

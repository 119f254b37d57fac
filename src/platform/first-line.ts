import { closeSync, openSync, readSync } from "node:fs";

const PIECE_BYTES = 64 * 1024;

/**
 * Reads the first line of a file, without its end, and nothing behind the piece that holds it.
 *
 * @returns `undefined` when it is not complete, or longer than `maxBytes`.
 * @throws what the system says when the file cannot be read.
 */
export function readFirstLine(file: string, maxBytes: number): string | undefined {
  const fd = openSync(file, "r");
  try {
    const pieces: Buffer[] = [];
    for (let at = 0; at < maxBytes; ) {
      const piece = Buffer.alloc(PIECE_BYTES);
      const got = readSync(fd, piece, 0, PIECE_BYTES, at);
      if (got === 0) return undefined;
      at += got;
      const end = piece.subarray(0, got).indexOf("\n");
      pieces.push(piece.subarray(0, end < 0 ? got : end));
      if (end >= 0) return Buffer.concat(pieces).toString("utf8");
    }
    return undefined;
  } finally {
    closeSync(fd);
  }
}

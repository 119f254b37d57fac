import type { Socket } from "node:net";
import { PIECE_BYTES } from "./header.ts";

/** Reads standard input and speaks to the daemon, without blocking either. */
export interface Transport {
  /** Hands over each piece of standard input, then undefined at its end. */
  readStdin(onChunk: (chunk: Buffer | undefined) => void): void;
  /**
   * Sends bytes, closes its own side, and waits for the first bytes that come back. `progress` is
   * told after each piece, and whether it was the last. `done` may come at any time.
   */
  exchange(
    path: string,
    bytes: Buffer,
    on: { progress: (isAll: boolean) => void; done: () => never },
  ): void;
}

/** Opens the quickest way there is in this Node. */
export function openTransport(): Transport {
  try {
    return native();
  } catch {
    return withNet(); // a Node without these bindings, or one that forbids them
  }
}

type Handle = {
  onread: () => void;
  open(fd: number): number;
  readStart(): number;
  connect(request: object, path: string): number;
  writeBuffer(request: object, bytes: Buffer): number;
  shutdown(request: object): number;
};
type Request = { oncomplete: (status: number) => void };
type Bindings = {
  pipe_wrap: {
    Pipe: new (type: number) => Handle;
    PipeConnectWrap: new () => Request;
    constants: { SOCKET: number };
  };
  stream_wrap: {
    WriteWrap: new () => Request;
    ShutdownWrap: new () => Request;
    streamBaseState: Int32Array;
    kReadBytesOrError: number;
  };
};

/**
 * Node's own pipes, without the `net` and `stream` modules that usually stand before them: these
 * take a fifth of Node's start.
 */
function native(): Transport {
  process.noDeprecation = true; // it would be printed
  const { binding } = process as unknown as {
    binding<Name extends keyof Bindings>(name: Name): Bindings[Name];
  };
  const { Pipe, PipeConnectWrap, constants } = binding("pipe_wrap");
  const { WriteWrap, ShutdownWrap, streamBaseState, kReadBytesOrError } = binding("stream_wrap");
  const open = () => new Pipe(constants.SOCKET);
  if (![open, PipeConnectWrap, WriteWrap, ShutdownWrap].every((it) => typeof it === "function"))
    throw new Error("bindings of another shape");

  /** Node calls it with the bytes that came, or nothing, and leaves their number beside it. */
  const onRead = (handle: Handle, got: (chunk: Buffer | undefined) => void) => {
    handle.onread = (bytes?: ArrayBuffer) => {
      const size = streamBaseState[kReadBytesOrError] ?? -1;
      if (size < 0) got(undefined);
      else if (bytes && size > 0) got(Buffer.from(bytes, 0, size));
    };
    return handle.readStart();
  };
  const request = (Wrap: new () => Request, oncomplete: (status: number) => void) =>
    Object.assign(new Wrap(), { oncomplete });

  return {
    readStdin(onChunk) {
      const input = open();
      if (input.open(0) !== 0 || onRead(input, onChunk) !== 0) onChunk(undefined);
    },
    exchange(path, bytes, { progress, done }) {
      const socket = open();
      const connected = request(PipeConnectWrap, (failed) => {
        if (failed || onRead(socket, done) !== 0) done();
        for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
          // What the system takes at once completes without a word.
          const written = request(WriteWrap, (broken) => (broken ? done() : progress(false)));
          if (socket.writeBuffer(written, bytes.subarray(at, at + PIECE_BYTES)) !== 0) done();
        }
        socket.shutdown(request(ShutdownWrap, () => progress(true)));
      });
      if (socket.connect(connected, path) !== 0) done();
    },
  };
}

function withNet(): Transport {
  const { Socket, connect } = process.getBuiltinModule("node:net");
  const ends = (socket: Socket, end: () => void) => socket.on("error", end).on("end", end);
  return {
    readStdin(onChunk) {
      ends(new Socket({ fd: 0, readable: true, writable: false }), () => onChunk(undefined)).on(
        "data",
        onChunk,
      );
    },
    exchange(path, bytes, { progress, done }) {
      const socket = connect({ path, allowHalfOpen: true });
      ends(socket, done).on("data", done);
      for (let at = 0; at < bytes.length; at += PIECE_BYTES)
        socket.write(bytes.subarray(at, at + PIECE_BYTES), () => progress(false));
      socket.end(() => progress(true));
    },
  };
}

import net from "node:net";
import { WebSocket } from "ws";

/** A peer that says no goodbye in return is left after this. */
const GOODBYE_MS = 1000;

export type WebSocketOptions = {
  /** The Unix socket that the server listens on. */
  socketPath: string;
  /** A longer message ends the connection, before it is read. */
  maxMessageBytes: number;
  onText: (text: string) => void;
};

/** A connection to a WebSocket server on a Unix socket. Nothing about it is ever thrown. */
export type WebSocketConnection = {
  /** Whether it came about, once that is decided. */
  readonly opened: Promise<boolean>;
  /** Why it is over, or never came about: an error's code and words, or neither after a goodbye. */
  readonly ended: Promise<WebSocketEnd>;
  /** Sends a message; one that comes too late is dropped. */
  readonly send: (text: string) => void;
  /** Says goodbye, or breaks off what is not open yet. Nothing more is heard. */
  readonly close: () => void;
};

export type WebSocketEnd = { code?: string; message?: string };

/** Connects to a WebSocket server. Messages that are not text are dropped, pings are answered. */
export function openWebSocket(options: WebSocketOptions): WebSocketConnection {
  const { socketPath, maxMessageBytes, onText } = options;
  const settings = {
    // Not by its URL: some characters of a path would change their meaning in it.
    createConnection: () => net.connect(socketPath),
    maxPayload: maxMessageBytes,
    closeTimeout: GOODBYE_MS,
    perMessageDeflate: false,
  };
  const socket = new WebSocket("ws://localhost/", settings);
  let end: WebSocketEnd = {};
  let isHeard = true;
  socket.on("message", (data, isBinary) => {
    if (isHeard && !isBinary) onText(data.toString());
  });
  socket.on("error", ({ code, message }: NodeJS.ErrnoException) => {
    const isTooLong = code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH";
    const words = isTooLong ? `a message is longer than ${maxMessageBytes} bytes` : message;
    end = { message: words, ...(code === undefined ? {} : { code }) };
  });
  const ended = new Promise<WebSocketEnd>((resolve) => {
    socket.on("close", () => resolve(end));
  });
  const opened = new Promise<boolean>((resolve) => {
    socket.on("open", () => resolve(true));
    socket.on("close", () => resolve(false));
  });
  return {
    opened,
    ended,
    send: (text) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(text);
    },
    close: () => {
      isHeard = false;
      socket.close(1000);
    },
  };
}

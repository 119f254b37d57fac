/** Every failure that a caller can act on; exit codes and hints hang on these. */
export type ErrorCode =
  | "usage"
  | "invalidPayload"
  | "unknownOp"
  | "unknownSession"
  | "lineTooLong"
  | "daemonUnreachable"
  | "daemonRefused"
  | "daemonRunning"
  | "daemonStays"
  | "daemonStartFailed"
  | "socketPathTooLong"
  | "socketPathUnsafe"
  | "brokenReply";

/** A failure with a code from the list above; anything else that is thrown is a bug. */
export class ToolError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "ToolError";
    this.code = code;
  }
}

/**
 * The header of the `hook` op, the one line that launcher and sink put before the agent's payload:
 *
 *     {"service":"sessions","op":"hook","payload":{"agent":"claude","pid":4001,"ppid":4000,
 *      "grok":true,"env":{"tmux_pane":"%3","term_program":"tmux"}}}
 *
 * - `agent`: the name given with `--agent`, else `claude`.
 * - `pid`: `CLAUDE_PID`, only for the agent `claude` (what it starts inherits the variable).
 * - `ppid`: the parent of launcher or sink: the agent itself, or the shell it runs hooks with.
 * - `grok`: true when `GROK_SESSION_ID` is set; then the payload may be Grok's.
 * - `env`: what tells where the session is shown. A field is the variable's name in small letters;
 *   `tmux_socket` is the first part of `TMUX`.
 *
 * A value that is no plain word is left out: nothing in the header ever needs quoting.
 */
export const headerVariables = [
  "CLAUDE_CODE_ENTRYPOINT",
  "TMUX_PANE",
  "TERM_PROGRAM",
  "TERM_SESSION_ID",
  "ITERM_SESSION_ID",
  "KITTY_WINDOW_ID",
  "KITTY_LISTEN_ON",
  "WEZTERM_PANE",
  "WEZTERM_UNIX_SOCKET",
  "ZELLIJ_SESSION_NAME",
  "ZELLIJ_PANE_ID",
  "VSCODE_PID",
  "VSCODE_IPC_HOOK_CLI",
  "KONSOLE_DBUS_SERVICE",
  "KONSOLE_DBUS_SESSION",
  "WINDOWID",
] as const;

/** The inside of a bracket expression, the same in a shell's pattern and in a regular expression. */
export const PLAIN_CHARACTERS = "A-Za-z0-9_.:/@%+=,-";

/** Longer than any socket path or session name that a terminal hands out. */
export const MAX_WORD_LENGTH = 200;

/** The most bytes of one payload; a longer one is read to its end and dropped. */
export const MAX_PAYLOAD_BYTES = 64 * 1024 * 1024;

/** A payload is sent in pieces of this size; patience begins anew with each that was taken. */
export const PIECE_BYTES = 1024 * 1024;

/** How long a daemon that does not take the bytes is waited for. */
export const SEND_PATIENCE_MS = 600;

/**
 * How long the reply is waited for. It keeps hooks in order and lets the daemon look at the
 * processes above this one; the payload itself has arrived by then.
 */
export const REPLY_PATIENCE_MS = 300;

/** How long an agent that sends nothing more and does not close is waited for. */
export const STDIN_PATIENCE_MS = 1000;

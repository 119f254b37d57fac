import {
  headerVariables,
  MAX_PAYLOAD_BYTES,
  MAX_WORD_LENGTH,
  PIECE_BYTES,
  PLAIN_CHARACTERS,
  REPLY_PATIENCE_MS,
  SEND_PATIENCE_MS,
} from "./header.ts";

/** What carries the bytes to the socket. */
export type Sender =
  | { kind: "perl"; path: string }
  | { kind: "nc"; path: string; flags: readonly string[] }
  | { kind: "node"; path: string; sink: string };

/**
 * Writes a value as one word for a POSIX shell, whatever characters it holds.
 *
 * @param value  Anything but a NUL, which no shell word can hold.
 */
export function shellQuote(value: string): string {
  return `'${value.replaceAll("'", `'\\''`)}'`;
}

/**
 * Returns the text of the launcher: what an agent's hook entries read into their shell, or run.
 *
 * It sends a header line (see header.ts) and then its standard input to the daemon. It prints
 * nothing, exits 0 and leaves nothing running, whatever happens. `OMNI_DEV_SOCKET` in its
 * environment wins over the socket given here. Its arguments: none, or `--agent NAME`.
 */
export function launcherText({
  sender,
  socketPath,
}: {
  sender: Sender;
  socketPath: string;
}): string {
  return `#!/bin/sh
# Hands one hook call of a coding agent to omni-dev's daemon. Written by "omni-dev sessions
# install-hooks" and written anew by the next one: changes made here are lost.
socket=${shellQuote(socketPath)}
socket=\${OMNI_DEV_SOCKET:-$socket}
${bodyFor(sender)}`;
}

function bodyFor(sender: Sender): string {
  const program = shellQuote(sender.path);
  switch (sender.kind) {
    // One process: the shell becomes perl. Builtins only, since loading one module costs more than
    // all the rest. The environment is cleared of what would change perl or make it speak.
    case "perl":
      return `LC_ALL=C
export LC_ALL
unset PERL5OPT PERL5DB PERL_UNICODE PERLIO
[ -x ${program} ] && exec ${program} -e '${perl}' -- "$socket" "$@" >/dev/null 2>&1
${drain}`;

    // nc goes when the daemon does, while cat still reads: the second cat spares the agent an EPIPE.
    case "nc":
      return `exec >/dev/null 2>&1
trap "" PIPE
LC_ALL=C
${headerInShell}
[ -n "$agent" ] && [ -S "$socket" ] && [ -x ${program} ] || { cat; exit 0; }
{ printf "%s\\n" "$header"; cat || cat >/dev/null; } | ${[program, ...sender.flags].join(" ")} "$socket"
exit 0
`;

    // Node reads these variables before any code of ours: certificates, which take three times as
    // long as all else, and debuggers, which speak.
    case "node":
      return `unset NODE_EXTRA_CA_CERTS NODE_OPTIONS NODE_V8_COVERAGE
[ -S "$socket" ] && [ -x ${program} ] && [ -f ${shellQuote(sender.sink)} ] &&
  exec ${program} ${shellQuote(sender.sink)} --socket "$socket" "$@" >/dev/null 2>&1
${drain}`;
  }
}

/** An agent whose hook ends before it has written all gets an error: what nobody wants is read, too. */
const drain = `cat >/dev/null 2>&1
exit 0
`;

/** The agent's name, and the header, as a shell without any other program makes them. */
const headerInShell = `agent=claude
[ "$1" = --agent ] && agent=$2
case $agent in "" | [!a-z]* | *[!a-z0-9-]*) agent= ;; esac
[ \${#agent} -le 32 ] || agent=
number() { case $2 in "" | 0* | *[!0-9]* | ???????????*) ;; *) numbers=$numbers,\\"$1\\":$2 ;; esac; }
word() {
  case $2 in "" | *[!${PLAIN_CHARACTERS}]*) return ;; esac
  [ \${#2} -le ${MAX_WORD_LENGTH} ] && words=$words,\\"$1\\":\\"$2\\"
}
numbers= words=
[ "$agent" = claude ] && number pid "$CLAUDE_PID"
number ppid "$PPID"
[ -n "$GROK_SESSION_ID" ] && numbers=$numbers,\\"grok\\":true
word tmux_socket "\${TMUX%,*,*}"
${headerVariables.map((name) => `word ${name.toLowerCase()} "$${name}"`).join("\n")}
header="{\\"service\\":\\"sessions\\",\\"op\\":\\"hook\\",\\"payload\\":{\\"agent\\":\\"$agent\\"$numbers,\\"env\\":{\${words#,}}}}"`;

const microseconds = (ms: number) => ms * 1000;

/**
 * The sender in perl. No single quote may stand in it. Constants of Linux or of the BSDs are chosen
 * when it runs; where they are wrong, the alarm still bounds it.
 *
 * The payload is read to its end before the daemon is spoken to: an agent never waits for a daemon.
 */
const perl = `
$SIG{ALRM} = sub { exit 0 };
$SIG{PIPE} = "IGNORE";
alarm 1;
my ($path, $flag, $agent) = @ARGV;
$agent = "claude" unless defined $flag && $flag eq "--agent";
my ($input, $full) = ("", 0);
for (;;) {
  my $got = sysread STDIN, $input, 65536, length $input;
  if ($got) {
    alarm 1;
    ($input, $full) = ("", 1) if length $input > ${MAX_PAYLOAD_BYTES};
    next;
  }
  last if defined $got || $! != 11 && $! != 35 && $! != 4;
  my $ready = "\\1";
  select $ready, undef, undef, 1;
}
my $bsd = $^O =~ /darwin|bsd/;
exit 0 if $full || $input eq "" || length $path > ($bsd ? 103 : 107);
exit 0 unless defined $agent && $agent =~ /^[a-z][a-z0-9-]{0,31}\\z/;
alarm 1;
socket(S, 1, 1, 0) or exit 0;
my $level = $bsd ? 65535 : 1;
setsockopt S, $level, $bsd ? 4101 : 21, pack "l!l!", 0, ${microseconds(SEND_PATIENCE_MS)};
setsockopt S, $level, $bsd ? 4102 : 20, pack "l!l!", 0, ${microseconds(REPLY_PATIENCE_MS)};
connect(S, $bsd ? pack("CCa104", 106, 1, $path) : pack("Sa108", 1, $path)) or exit 0;
my $head = "{\\"service\\":\\"sessions\\",\\"op\\":\\"hook\\",\\"payload\\":{\\"agent\\":\\"$agent\\"";
my $pid = $agent eq "claude" && $ENV{CLAUDE_PID};
$head .= ",\\"pid\\":$pid" if $pid && $pid =~ /^[1-9][0-9]{0,9}\\z/;
$head .= ",\\"ppid\\":" . getppid;
$head .= ",\\"grok\\":true" if $ENV{GROK_SESSION_ID};
(my $tmux = $ENV{TMUX} || "") =~ s/,[^,]*,[^,]*\\z//;
my $words = "";
for (qw(TMUX_SOCKET ${headerVariables.join(" ")})) {
  my $word = $_ eq "TMUX_SOCKET" ? $tmux : $ENV{$_};
  $words .= ",\\"\\L$_\\E\\":\\"$word\\""
    if defined $word && $word =~ m{^[${PLAIN_CHARACTERS.replace("@", "\\@")}]{1,${MAX_WORD_LENGTH}}\\z};
}
$head .= ",\\"env\\":{" . substr($words, 1) . "}}}\\n" if $words ne "";
$head .= ",\\"env\\":{}}}\\n" if $words eq "";
$input = $head . $input;
my $sent = 0;
while ((my $rest = length($input) - $sent) > 0) {
  $rest = ${PIECE_BYTES} if $rest > ${PIECE_BYTES};
  my $wrote = syswrite S, $input, $rest, $sent;
  exit 0 unless $wrote && $wrote == $rest;
  $sent += $wrote;
  alarm 1;
}
shutdown S, 1;
sysread S, $input, 1;
exit 0;
`;

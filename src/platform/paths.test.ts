import { expect, test } from "vitest";
import {
  claudeConfigDirs,
  claudeProjectsDirs,
  codexDir,
  currentHost,
  dataDir,
  type Host,
  logPath,
  piDir,
  resolveSocket,
  shimPath,
  shortenHome,
  socketPathProblem,
} from "./paths.ts";

function aHost(fields: Partial<Host> = {}): Host {
  return {
    env: {},
    platform: "linux",
    home: "/home/u",
    uid: 1000,
    tmpDir: "/tmp",
    cwd: "/place",
    ...fields,
  };
}

const socketOf = (fields: Partial<Host>) => resolveSocket({ host: aHost(fields) });

test("the data directory follows the system and XDG, but no relative XDG path", () => {
  const home = "/Users/u";
  expect([
    dataDir(aHost()),
    dataDir(aHost({ env: { XDG_DATA_HOME: "/x" } })),
    dataDir(aHost({ env: { XDG_DATA_HOME: "x" } })),
    dataDir(aHost({ env: { XDG_DATA_HOME: "" } })),
    dataDir(aHost({ platform: "darwin", home, env: { XDG_DATA_HOME: "/x" } })),
  ]).toEqual([
    "/home/u/.local/share/omni-dev",
    "/x/omni-dev",
    "/home/u/.local/share/omni-dev",
    "/home/u/.local/share/omni-dev",
    "/Users/u/Library/Application Support/omni-dev",
  ]);
});

test("the socket is the flag's, then the environment's, then the default", () => {
  const byDefault = "/home/u/.local/share/omni-dev/daemon.sock";
  const env = { OMNI_DEV_SOCKET: "e/d.sock" };
  const host = aHost({ env });
  expect([
    resolveSocket({ flag: "/f/d.sock", host }),
    resolveSocket({ flag: "", host }),
    resolveSocket({ flag: undefined, host: aHost({ env: { OMNI_DEV_SOCKET: "" } }) }),
    resolveSocket({ flag: byDefault, host }),
  ]).toEqual([
    { path: "/f/d.sock", given: true, isDefault: false },
    { path: "/place/e/d.sock", given: true, isDefault: false },
    { path: byDefault, given: false, isDefault: true },
    { path: byDefault, given: true, isDefault: true },
  ]);
});

test("a given path that the system cannot take has a problem, at each system's own limit", () => {
  for (const [platform, limit] of [
    ["linux", 107],
    ["darwin", 103],
  ] as const) {
    const fits = `/${"ä".repeat((limit - 1) / 2)}`;
    expect(Buffer.byteLength(fits)).toBe(limit);
    expect(resolveSocket({ flag: fits, host: aHost({ platform }) })).not.toHaveProperty("problem");
    const problem = `Cannot use a socket path of ${limit + 1} bytes, the system allows ${limit}: ${fits}x. Choose a shorter one with --socket or OMNI_DEV_SOCKET.`;
    expect(resolveSocket({ flag: `${fits}x`, host: aHost({ platform }) }).problem).toBe(problem);
    expect(socketPathProblem(`${fits}x`, platform)).toBe(problem);
  }
});

test("a default that is too long gives way to one in the temporary directory, or in /tmp", () => {
  const home = `/${"h".repeat(120)}`;
  const tail = "/.local/share/omni-dev/daemon.sock";
  const longest = `/${"h".repeat(107 - tail.length - 1)}`;
  expect([
    socketOf({ home: longest }),
    socketOf({ home: `${longest}h` }),
    socketOf({ home, tmpDir: "/var/t" }),
    socketOf({ home, tmpDir: home }),
    socketOf({ home, tmpDir: "t" }),
  ]).toEqual(
    [
      `${longest}${tail}`,
      "/tmp/omni-dev-1000/daemon.sock",
      "/var/t/omni-dev-1000/daemon.sock",
      "/tmp/omni-dev-1000/daemon.sock",
      "/tmp/omni-dev-1000/daemon.sock",
    ].map((path) => ({ path, given: false, isDefault: true })),
  );
});

test("log and shim lie beside the socket", () => {
  expect([logPath("/a/d.sock"), shimPath("/a/d.sock")]).toEqual([
    "/a/daemon.log",
    "/a/claude-wrap",
  ]);
});

test("Claude's files are looked for in the profile that is set and in the usual place, once each", () => {
  const dirs = (CLAUDE_CONFIG_DIR: string) =>
    claudeConfigDirs(aHost({ env: { CLAUDE_CONFIG_DIR } }));
  expect([dirs("/p"), dirs(""), dirs("/home/u/.claude/"), dirs("p")]).toEqual([
    ["/p", "/home/u/.claude"],
    ["/home/u/.claude"],
    ["/home/u/.claude"],
    ["/place/p", "/home/u/.claude"],
  ]);
  const env = { CLAUDE_CONFIG_DIR: "/p" };
  expect(claudeProjectsDirs(aHost({ env }))).toEqual(["/p/projects", "/home/u/.claude/projects"]);
  const instead = { ...env, OMNI_DEV_CLAUDE_PROJECTS_DIR: "/only" };
  expect(claudeProjectsDirs(aHost({ env: instead }))).toEqual(["/only"]);
});

test("the other agents' places follow their own variables", () => {
  const env = { CODEX_HOME: "/c", PI_CODING_AGENT_DIR: "/p" };
  const unset = aHost({ env: { CODEX_HOME: "" } });
  expect([codexDir(unset), piDir(unset), codexDir(aHost({ env })), piDir(aHost({ env }))]).toEqual([
    "/home/u/.codex",
    "/home/u/.pi/agent",
    "/c",
    "/p",
  ]);
});

test("a path is shortened only at its home directory", () => {
  const cases = ["/home/u", "/home/u/a", "/home/u2/a", "/a/home/u", "/"];
  expect(cases.map((full) => shortenHome(full, "/home/u"))).toEqual([
    "~",
    "~/a",
    "/home/u2/a",
    "/a/home/u",
    "/",
  ]);
  expect(shortenHome("/home/u/a", "/home/u/")).toBe("~/a");
  expect(shortenHome("/a", "/")).toBe("/a");
});

test("this host has absolute places", () => {
  const { home, tmpDir, cwd, uid } = currentHost();
  expect([home, tmpDir, cwd].every((place) => place.startsWith("/"))).toBe(true);
  expect(uid).toBeGreaterThanOrEqual(0);
});

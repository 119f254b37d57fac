import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { repositoryName } from "./repository.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(os.tmpdir(), "omni-dev-git-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const git = (...args: string[]) =>
  execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.invalid", ...args], {
    cwd: dir,
    env: { PATH: process.env.PATH, HOME: dir, GIT_CONFIG_NOSYSTEM: "1" },
    stdio: "pipe",
  });

test("a folder has the name of its repository, a linked work tree that of the main one", async () => {
  git("init", "-q", "app");
  git("-C", "app", "commit", "-q", "--allow-empty", "-m", "x");
  git("-C", "app", "worktree", "add", "-q", "../elsewhere");
  mkdirSync(path.join(dir, "app", "src"));
  expect(await repositoryName(path.join(dir, "app", "src"))).toBe("app");
  expect(await repositoryName(path.join(dir, "elsewhere"))).toBe("app");
});

test("a bare repository has its name without the ending", async () => {
  git("init", "-q", "--bare", "tool.git");
  expect(await repositoryName(path.join(dir, "tool.git"))).toBe("tool");
});

test("no repository and a folder that is gone are told apart", async () => {
  expect(await repositoryName(dir)).toBeNull();
  expect(await repositoryName(path.join(dir, "gone"))).toBeUndefined();
});

test("the environment of a git hook does not mislead", async () => {
  git("init", "-q", "other");
  process.env.GIT_DIR = path.join(dir, "other", ".git");
  try {
    expect(await repositoryName(dir)).toBeNull();
  } finally {
    delete process.env.GIT_DIR;
  }
});

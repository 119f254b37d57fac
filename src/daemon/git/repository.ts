import { execFile } from "node:child_process";
import path from "node:path";

/** A repository on a mount that no longer answers is given up on after this. */
const GIT_LIMIT_MS = 3000;

/**
 * Finds the name of the repository that a folder lies in: the folder of the main work tree, so that
 * a linked work tree has the name of the repository it belongs to.
 *
 * @returns null when the folder is certainly in none, `undefined` when that could not be found out:
 *   the folder is gone, git is not installed, or it did not answer in time.
 */
export async function repositoryName(folder: string): Promise<string | null | undefined> {
  const { stdout, stderr } = await git(folder, ["rev-parse", "--git-common-dir"]);
  const commonDir = stdout.trim();
  if (commonDir) return nameOf(path.resolve(folder, commonDir));
  return stderr.includes("not a git repository") ? null : undefined;
}

function nameOf(commonDir: string): string | undefined {
  const base = path.basename(commonDir);
  const name =
    base === ".git" ? path.basename(path.dirname(commonDir)) : base.replace(/\.git$/, "");
  return name || undefined;
}

function git(folder: string, args: string[]): Promise<{ stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const options = {
      timeout: GIT_LIMIT_MS,
      killSignal: "SIGKILL" as const,
      env: gitEnv(),
      cwd: "/",
    };
    execFile("git", ["-C", folder, ...args], options, (_error, stdout, stderr) =>
      // Whether it failed shows in what it said: the exit code is the same for every reason.
      resolve({ stdout, stderr }),
    );
  });
}

/** A daemon started from within a git hook would look into that hook's repository. */
function gitEnv(): NodeJS.ProcessEnv {
  const env = Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_"));
  return { ...Object.fromEntries(env), LC_ALL: "C", GIT_OPTIONAL_LOCKS: "0" };
}

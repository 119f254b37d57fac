import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { Program } from "./harness/program.ts";

/** Somebody on whose PATH there is nothing but what a test puts there. */
class User extends Program {
  readonly agentDir = path.join(this.home, ".pi", "agent");
  readonly extension = path.join(this.agentDir, "extensions", "omni-dev-sessions.ts");

  constructor() {
    super();
    this.env.PATH = path.join(this.home, "bin");
    fs.mkdirSync(this.env.PATH);
  }

  install(...options: string[]) {
    return this.run("sessions", "install-hooks", ...options);
  }

  uninstall(...options: string[]) {
    return this.run("sessions", "uninstall-hooks", ...options);
  }
}

test("without a pi nothing is made for one, and it is said; uninstall has nothing to say", async () => {
  const user = new User();
  const installed = await user.install();
  expect(installed).toMatchObject({ exit: 0 });
  expect(installed.stdout).toMatch(/^pi was not found.*--pi-agent-dir/m);
  expect(fs.existsSync(path.join(user.home, ".pi"))).toBe(false);
  expect((await user.uninstall()).stdout).not.toMatch(/\bpi\b/);
});

test("the extension names the daemon's socket, is written once, and goes with uninstall", async () => {
  const user = new User();
  fs.mkdirSync(user.agentDir, { recursive: true });
  expect((await user.install("--dry-run")).stdout).toContain("Would create: ~/.pi/agent/");
  expect(fs.existsSync(user.extension)).toBe(false);
  expect((await user.install()).stdout).toContain("Created: ~/.pi/agent/extensions/");
  const written = fs.readFileSync(user.extension, "utf8");
  expect(written).toContain(JSON.stringify(user.socket));

  expect((await user.install()).stdout).toContain("Unchanged: ~/.pi/agent/extensions/");
  expect(fs.readFileSync(user.extension, "utf8")).toBe(written);
  const moved = path.join(user.home, "it's moved.sock");
  expect((await user.install("--socket", moved)).stdout).toContain("Changed: ~/.pi/agent/");
  expect(fs.readFileSync(user.extension, "utf8")).toContain(JSON.stringify(moved));

  expect((await user.uninstall()).stdout).toContain("Deleted: ~/.pi/agent/extensions/");
  expect(fs.existsSync(user.extension)).toBe(false);
});

test("a folder that is named is taken, be there a pi or not", async () => {
  const user = new User();
  const named = path.join(user.home, "elsewhere");
  expect(await user.install("--pi-agent-dir", named)).toMatchObject({ exit: 0 });
  expect(fs.readdirSync(path.join(named, "extensions"))).toEqual(["omni-dev-sessions.ts"]);
  expect(fs.existsSync(user.agentDir)).toBe(false);
  expect((await user.uninstall("--pi-agent-dir", named)).stdout).toContain("Deleted: ~/elsewhere/");
});

test("a file of that name that is somebody else's is refused, and stays at uninstall", async () => {
  const user = new User();
  fs.mkdirSync(path.dirname(user.extension), { recursive: true });
  fs.writeFileSync(user.extension, "// mine\n");
  const installed = await user.install();
  expect(installed.exit).toBe(1);
  expect(installed.stderr).toContain("Left as it is: ~/.pi/agent/extensions/omni-dev-sessions.ts");
  const removed = await user.uninstall();
  expect(removed.exit).toBe(0);
  expect(removed.stdout).toContain("not written by omni-dev");
  expect(fs.readFileSync(user.extension, "utf8")).toBe("// mine\n");
});

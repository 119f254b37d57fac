import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { usableSocket } from "./socket-path.ts";

const uid = process.geteuid?.() ?? -1;

test("a default in our own or in a missing directory is taken, in another user's refused", () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "omni-"));
  onTestFinished(() => fs.rmSync(dir, { recursive: true }));
  const at = (name: string) => ({
    path: path.join(dir, name),
    given: false,
    isDefault: true,
  });
  const choice = at("d.sock");
  expect(usableSocket(choice, { uid })).toBe(choice.path);
  expect(usableSocket(at("absent/d.sock"), { uid: uid + 1 })).toBe(at("absent/d.sock").path);
  expect(() => usableSocket(choice, { uid: uid + 1 })).toThrow(
    expect.objectContaining({ code: "socketPathUnsafe" }),
  );
  const given = { ...choice, given: true, isDefault: false };
  expect(usableSocket(given, { uid: uid + 1 })).toBe(given.path);
});

test("a given path with a problem is refused in its words", () => {
  const choice = { path: "/x", given: true, isDefault: false, problem: "Too long." };
  expect(() => usableSocket(choice, { uid })).toThrow(
    expect.objectContaining({ code: "socketPathTooLong", message: "Too long." }),
  );
});

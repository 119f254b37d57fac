import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const root = new URL("..", import.meta.url).pathname;
const src = path.join(root, "src");

/** Who may import whom, by folder; `packages` names what else may be imported beside Node itself. */
const rules: Record<string, { folders: string[]; packages: string[] }> = {
  "core/protocol": { folders: [], packages: ["zod/mini"] },
  "core/registry": { folders: ["core/protocol"], packages: [] },
  "core/agents": { folders: ["core/protocol"], packages: [] },
  "core/present": { folders: ["core/protocol"], packages: [] },
  platform: { folders: [], packages: ["ws"] },
  client: { folders: ["core/protocol", "platform"], packages: [] },
  "daemon/feeds": {
    folders: ["core/protocol", "core/agents", "platform", "daemon/feed.ts"],
    packages: [],
  },
  "daemon/git": { folders: ["core/protocol", "platform"], packages: [] },
  daemon: { folders: ["core/", "platform", "daemon"], packages: [] },
  hook: { folders: [], packages: [] },
  wrap: { folders: ["client", "core/agents", "core/protocol", "platform"], packages: [] },
  install: {
    folders: ["platform", "hook", "core/agents", "core/protocol"],
    packages: ["jsonc-parser"],
  },
  cli: {
    folders: ["client", "core/present", "core/protocol", "platform", "install"],
    packages: ["commander", "string-width"],
  },
  bin: { folders: ["cli", "daemon", "hook", "wrap", "platform"], packages: [] },
};

const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter(
  (file) => file.endsWith(".ts") && !file.endsWith(".d.ts"),
);
const sources = files.filter((file) => !file.endsWith(".test.ts"));
const textOf = (file: string) => readFileSync(path.join(src, file), "utf8");

const importsOf = (file: string) =>
  [...textOf(file).matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map(
    ([, target]) => target ?? "",
  );

function ruleOf(file: string) {
  const folder = Object.keys(rules)
    .filter((name) => file.startsWith(`${name}/`))
    .sort((a, b) => b.length - a.length)[0];
  return folder ? { folder, ...rules[folder] } : undefined;
}

test("every source file lies in a folder that has a rule", () => {
  expect(sources.filter((file) => !ruleOf(file))).toEqual([]);
});

test("a file imports only what its folder may", () => {
  const wrong = sources.flatMap((file) => {
    const rule = ruleOf(file);
    return importsOf(file).flatMap((target) => {
      if (!target.startsWith(".")) {
        const isNode = target.startsWith("node:") && !file.startsWith("core/");
        return isNode || rule?.packages?.includes(target) ? [] : [`${file}: ${target}`];
      }
      const found = path.relative(src, path.resolve(src, path.dirname(file), target));
      const isOwn = rule && found.startsWith(`${rule.folder}/`) && rule.folder !== "daemon/feeds";
      const isAllowed = isOwn || rule?.folders?.some((folder) => found.startsWith(folder));
      return isAllowed ? [] : [`${file}: ${found}`];
    });
  });
  expect(wrong).toEqual([]);
});

test("no file imports in a circle", () => {
  const graph = new Map(
    sources.map((file) => [
      file,
      importsOf(file)
        .filter((target) => target.startsWith("."))
        .map((target) => path.relative(src, path.resolve(src, path.dirname(file), target))),
    ]),
  );
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, trail: string[]): void => {
    if (trail.includes(file)) circles.push([...trail.slice(trail.indexOf(file)), file].join(" → "));
    if (done.has(file) || trail.includes(file)) return;
    for (const next of graph.get(file) ?? []) visit(next, [...trail, file]);
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  expect(circles).toEqual([]);
});

test("no file is longer than 400 lines", () => {
  const long = sources.filter((file) => textOf(file).split("\n").length > 400);
  expect(long).toEqual([]);
});

test("files have kebab-case names that say what they hold", () => {
  const odd = files.filter((file) => !/^[a-z0-9-]+(\.test)?\.ts$/.test(path.basename(file)));
  const empty = files.filter((file) => /(^|\/)(index|utils?|helpers?|common)\.ts$/.test(file));
  expect([...odd, ...empty]).toEqual([]);
});

test("the tree in ARCHITECTURE.md exists", () => {
  const text = readFileSync(path.join(root, "ARCHITECTURE.md"), "utf8");
  const tree = /```text\n([\s\S]*?)```/.exec(text)?.[1] ?? "";
  const trail: string[] = [];
  const paths = tree.split("\n").flatMap((line) => {
    const [, indent, name] = /^( *)(\S+\/)/.exec(line) ?? [];
    if (indent === undefined || name === undefined) return [];
    trail.splice(indent.length / 2, trail.length, name);
    return [trail.join("")];
  });
  expect(paths.length).toBeGreaterThan(10);
  expect(
    paths.filter((found) => !statSync(path.join(root, found), { throwIfNoEntry: false })),
  ).toEqual([]);
});

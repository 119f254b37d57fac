import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pinnedVersions } from "./install.ts";

/** Of no worth anywhere: no key but these gets into a lab. */
export const DUMMY_KEY = "sk-ant-dummy";

export interface Homes {
  home: string;
  /** The project folder, which the agents take for trusted. */
  cwd: string;
  /** Where the fake model listens, without a path. */
  model: string;
}

/** Configures every agent in a fresh home: the fake model, and no question at the start. */
export async function configureAgents(homes: Homes): Promise<void> {
  await Promise.all([configureClaude(homes), configureCodex(homes), configurePi(homes)]);
}

/** Skips onboarding, key approval and the trust dialog, and makes Claude ask before it writes. */
async function configureClaude({ home, cwd }: Homes): Promise<void> {
  const [version] = await pinnedVersions("claude-code");
  const state = {
    hasCompletedOnboarding: true,
    lastOnboardingVersion: version,
    theme: "dark",
    hasSeenAutoDefaultNudge: true,
    customApiKeyResponses: { approved: [DUMMY_KEY], rejected: [] },
    projects: { [cwd]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
  };
  await writeFile(join(home, ".claude.json"), JSON.stringify(state));
  await writeIn(join(home, ".claude"), "settings.json", {
    permissions: { defaultMode: "default" },
  });
}

async function configureCodex({ home, cwd, model }: Homes): Promise<void> {
  await writeIn(
    join(home, ".codex"),
    "config.toml",
    `model = "gpt-5.4"
model_provider = "lab"
approval_policy = "on-request"
sandbox_mode = "workspace-write"

[model_providers.lab]
name = "lab"
base_url = "${model}/v1"
wire_api = "responses"
env_key = "LAB_KEY"
request_max_retries = 1
stream_max_retries = 1

[projects."${cwd}"]
trust_level = "trusted"

[features]
default_mode_request_user_input = true # else it asks its questions in plan mode only
`,
  );
}

async function configurePi({ home, model }: Homes): Promise<void> {
  const folder = join(home, ".pi/agent");
  const lab = {
    baseUrl: model,
    apiKey: DUMMY_KEY,
    api: "anthropic-messages",
    models: [{ id: "fake-1" }],
  };
  await writeIn(folder, "models.json", { providers: { lab } });
  await writeIn(folder, "settings.json", { defaultProvider: "lab", defaultModel: "fake-1" });
}

async function writeIn(folder: string, name: string, content: unknown): Promise<void> {
  await mkdir(folder, { recursive: true });
  const text = typeof content === "string" ? content : JSON.stringify(content);
  await writeFile(join(folder, name), text);
}

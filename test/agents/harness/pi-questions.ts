// An extension that runs inside pi, which itself never asks for permission: it asks before each
// command of the bash tool, and `/ask` asks the user to choose.
interface Ui {
  confirm(title: string, message: string): Promise<boolean>;
  select(title: string, options: string[]): Promise<string | undefined>;
}

interface Pi {
  on(
    event: "tool_call",
    listener: (
      call: { toolName: string; input: { command?: string } },
      context: { ui: Ui },
    ) => Promise<{ block: true; reason: string } | undefined>,
  ): void;
  registerCommand(
    name: string,
    command: {
      description: string;
      handler(args: string, context: { ui: Ui }): Promise<void>;
    },
  ): void;
}

// biome-ignore lint/style/noDefaultExport: it is how pi takes an extension
export default function questions(pi: Pi): void {
  pi.on("tool_call", async (call, { ui }) => {
    if (call.toolName !== "bash") return undefined;
    const isAllowed = await ui.confirm("Run this command?", call.input.command ?? "");
    return isAllowed ? undefined : { block: true, reason: "The user said no." };
  });
  pi.registerCommand("ask", {
    description: "Asks which colour to take",
    async handler(_args, { ui }) {
      await ui.select("Which colour?", ["Red", "Blue"]);
    },
  });
}

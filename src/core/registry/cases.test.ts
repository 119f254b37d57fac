import { beforeEach, expect, test } from "vitest";
import { P1, S1, S2 } from "../../../test/harness/sightings.ts";
import { readHook } from "../agents/claude/hooks.ts";
import { parseRecord, reportOf } from "../agents/claude/record.ts";
import { Sessions } from "./sessions.ts";

// What people who use such a table have met, as small inputs through the real parsers. Where only a
// conversation's lines would tell, the process record does.

let sessions: Sessions;
let now: number;

beforeEach(() => {
  sessions = new Sessions();
  now = 1000;
});

const wait = (seconds: number) => {
  now += seconds * 1000;
  const checks = sessions.pids().map((pid) => [pid, "900"] as const);
  sessions.look(new Map(checks), now);
};

function hook(hook_event_name: string, fields: object = {}): void {
  now += 10;
  const base = { session_id: S1, cwd: "/w/app", transcript_path: "/t/S1.jsonl" };
  const report = readHook({ ...base, hook_event_name, ...fields });
  if (report?.kind === "event") sessions.event({ ...report.event, pid: P1 }, now);
  if (report?.kind === "end") sessions.end({ session_id: report.sessionId, pid: P1 }, now);
}

function record(fields: object): void {
  now += 10;
  const text = JSON.stringify({
    pid: P1,
    sessionId: S1,
    procStart: "900",
    startedAt: 0,
    entrypoint: "cli",
    statusUpdatedAt: now,
    ...fields,
  });
  const read = parseRecord(text);
  if (read) sessions.record(reportOf(read, "900", undefined), now);
}

const grew = () => {
  now += 10;
  sessions.observe({ session_id: S1, event: "transcript_grew" }, now);
};

/** `state`, with `+n` for background commands and the word of an error. */
const shown = (id = S1) => {
  const row = sessions.list(now).find((entry) => entry.session_id === id);
  if (!row) return "absent";
  const background = row.background ? ` +${row.background}` : "";
  return `${row.state}${background}${row.error ? ` ${row.error}` : ""}`;
};

const bash = { tool_name: "Bash", tool_use_id: "t1" };

test("A1: Esc during a turn is idle as soon as the record tells", () => {
  hook("UserPromptSubmit");
  hook("PreToolUse", bash);
  record({ status: "busy" });
  grew();
  record({ status: "idle" });
  expect(shown()).toBe("idle");
});

test("A2: Esc before any output is idle from the record; without it nothing is made up", () => {
  hook("UserPromptSubmit");
  expect(shown()).toBe("working");
  record({ status: "idle" });
  expect(shown()).toBe("idle");
});

test("A3: a permission that was rejected no longer waits", () => {
  hook("PreToolUse", bash);
  hook("PermissionRequest", { tool_name: "Bash" });
  expect(shown()).toBe("waiting_for_permission");
  record({ status: "idle" });
  grew();
  expect(shown()).toBe("idle");
});

test("A4: after an approval the row works at once, for as long as the tool runs", () => {
  hook("PreToolUse", bash);
  hook("PermissionRequest", { tool_name: "Bash" });
  wait(2);
  record({ status: "busy" });
  expect(shown()).toBe("working");
  wait(300);
  expect(shown()).toBe("working");
});

test("A5: a request for permission alone is enough, at once", () => {
  hook("PreToolUse", { tool_name: "Write", tool_use_id: "t1" });
  hook("PermissionRequest", { tool_name: "Write" });
  expect(shown()).toBe("waiting_for_permission");
});

test("A6: a late notice revives no wait that was answered", () => {
  hook("PreToolUse", bash);
  hook("PermissionRequest", { tool_name: "Bash" });
  hook("PostToolUse", bash);
  wait(6);
  hook("Notification", { notification_type: "permission_prompt" });
  expect(shown()).toBe("working");
});

test("A8: a call's own start that comes after its question changes nothing, its end does", () => {
  hook("PermissionRequest", bash);
  hook("PreToolUse", bash);
  expect(shown()).toBe("waiting_for_permission");
  hook("PostToolUse", bash);
  expect(shown()).toBe("working");
});

test("A10: the end of a turn ends the calls that nobody reported as over", () => {
  hook("PreToolUse", { tool_name: "Read", tool_use_id: "t9" });
  grew();
  hook("Stop");
  expect(shown()).toBe("idle");
});

test.each(["Stop", "SubagentStop"])(
  "A11: %s of a subagent does not end its parent's turn",
  (end) => {
    hook("UserPromptSubmit");
    hook("PreToolUse", { tool_name: "Task", tool_use_id: "t1" });
    hook("SubagentStart", { agent_id: "a1" });
    hook(end, { agent_id: "a1" });
    expect(shown()).toBe("working");
  },
);

test("A12: the late end of a subagent does not make an idle row busy", () => {
  hook("UserPromptSubmit");
  hook("Stop");
  wait(30);
  hook("SubagentStop", { agent_id: "a1" });
  expect(shown()).toBe("idle");
});

test("A13: a subagent's question is the parent's wait, and only the subagent ends it", () => {
  hook("UserPromptSubmit");
  hook("PermissionRequest", { tool_name: "Bash", agent_id: "a1" });
  hook("PostToolUse", { tool_name: "Read", tool_use_id: "t5" });
  expect(shown()).toBe("waiting_for_permission");
  hook("PostToolUse", { tool_name: "Bash", agent_id: "a1" });
  expect(shown()).toBe("working");
});

test("A14: a turn that left a command running is idle, and is not waiting for anybody later", () => {
  hook("UserPromptSubmit");
  hook("Stop", { background_tasks: [{ id: "b1", type: "shell", status: "running" }] });
  expect(shown()).toBe("idle +1");
  wait(60);
  hook("Notification", { notification_type: "idle_prompt" });
  expect(shown()).toBe("idle +1");
});

test("A15: a command that runs in the background does not make an idle row work", () => {
  hook("UserPromptSubmit");
  hook("Stop");
  record({ status: "shell" });
  expect(shown()).toBe("idle +1");
});

test.each(["AskUserQuestion", "ExitPlanMode"])(
  "A16: %s is a question until it is answered",
  (tool) => {
    const call = { tool_name: tool, tool_use_id: "t1" };
    hook("UserPromptSubmit");
    hook("PreToolUse", call);
    expect(shown()).toBe("waiting_for_input");
    hook("PermissionRequest", { tool_name: tool });
    expect(shown()).toBe("waiting_for_input");
    hook("PostToolUse", call);
    expect(shown()).toBe("working");
  },
);

test("A18: silence is no question", () => {
  hook("PreToolUse", bash);
  wait(120);
  expect(shown()).toBe("working");
});

test("A19: a turn that an error ended is idle, with the error's word beside it", () => {
  hook("UserPromptSubmit");
  hook("StopFailure", { error: "rate_limit" });
  expect(shown()).toBe("idle rate_limit");
  hook("UserPromptSubmit");
  expect(shown()).toBe("working");
});

test.each([{ status: "stopped" }, {}])(
  "A22: a word that is not known is not work: %j",
  (fields) => {
    record(fields);
    expect(shown()).not.toBe("working");
    hook("UserPromptSubmit");
    hook("Stop");
    record(fields);
    expect(shown()).toBe("idle");
  },
);

test("A23: a record that does not move after an event contradicts it has lost after 30 s", () => {
  record({ status: "busy", statusUpdatedAt: now });
  wait(5);
  hook("Stop");
  wait(30);
  expect(shown()).toBe("idle");
});

test("B6: /clear leaves one row for one terminal, the new one", () => {
  hook("SessionStart", { source: "startup" });
  hook("UserPromptSubmit");
  hook("Stop");
  hook("SessionStart", { session_id: S2, source: "clear" });
  expect([shown(S1), shown(S2)]).toEqual(["absent", "starting"]);
});

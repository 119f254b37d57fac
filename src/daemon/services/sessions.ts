import { summaryOf } from "../../core/present/counts.ts";
import { ToolError } from "../../core/protocol/errors.ts";
import type { Handlers, ServiceStatus } from "../../core/protocol/ops.ts";
import type { FeedHealth, Report } from "../../core/protocol/report.ts";
import { parseTime } from "../../core/protocol/time.ts";
import { Sessions } from "../../core/registry/sessions.ts";
import { sessionOf, Traces } from "../../core/registry/traces.ts";
import { wait } from "../../platform/clock.ts";
import type { ProcessTable } from "../../platform/process-table.ts";
import type { Feed } from "../feed.ts";
import { PidLiveness } from "../feeds/pid-liveness.ts";
import { Places } from "../git/places.ts";
import { describeBug } from "../log.ts";
import type { Service, ServiceContext } from "../service.ts";
import { Topic } from "../topic.ts";
import { hookOp } from "./hook-op.ts";
import { snapshotOf } from "./snapshot.ts";

/** A feed that failed is started again after this. */
const RESTART_MS = 5000;

export type SessionsOptions = { feeds: readonly Feed[]; table: ProcessTable };

/** The sessions service, and when its feeds have had their first look around. */
export type SessionsService = Service & { readonly ready: Promise<void> };

/** Starts the sessions service: the engine, its feeds, and the timer that lets time pass. */
export function startSessions(options: SessionsOptions, context: ServiceContext): SessionsService {
  const { clock, log, signal, resampleMs } = context;
  const sessions = new Sessions();
  const traces = new Traces();
  const now = () => clock.now();
  const topic = new Topic({
    snapshot: () => JSON.stringify(snapshotOf(sessions.list(now()))),
    clock,
    resampleMs,
  });
  let timer = new AbortController();
  signal.addEventListener("abort", () => timer.abort());

  const places = new Places({
    clock,
    signal,
    onFound: (path, found) => settle(sessions.place(path, found, now())),
  });
  const liveness = new PidLiveness({
    table: options.table,
    pids: () => sessions.pids(),
    onLook: (checks) => settle(sessions.look(checks, now())),
    clock,
    signal,
  });

  /** After anything that may have changed: tells readers, and sets the one timer anew. */
  function settle(changed: boolean): void {
    if (changed) topic.changed();
    timer.abort();
    const deadline = sessions.nextDeadline();
    if (deadline === undefined || signal.aborted) return;
    timer = new AbortController();
    clock.after(Math.max(deadline - now(), 0), () => settle(sessions.advance(now())), timer.signal);
  }

  /** As `settle`, after news of sessions or windows. */
  function taken(changed: boolean): void {
    settle(changed);
    const { cwds, folders } = sessions.folders();
    places.want(cwds, folders);
    liveness.noticed();
  }

  /** Hands a report to the engine, and notes what it came to. */
  function take(report: Report, source: string, run = () => apply(report)): boolean {
    const id = sessionOf(report);
    const before = id === undefined ? undefined : sessions.shown(id, now());
    const changed = run();
    const after = id === undefined ? undefined : sessions.shown(id, now());
    traces.note(report, source, now(), { before, after });
    return changed;
  }

  function apply(report: Report): boolean {
    switch (report.kind) {
      case "sighting":
        return sessions.observe(report.sighting, now(), report.at);
      case "event":
        return sessions.event(report.event, now(), report.at);
      case "end":
        return sessions.end(report.ending, now(), report.at).changed;
      case "record":
        return sessions.record(report.record, now());
      case "record_gone":
        return sessions.recordGone(report.pid, report.how, now());
      case "record_stale":
        return sessions.recordStale(report.sessionId, report.pid, report.at, now());
      case "stream_lost":
        return sessions.streamLost(report.sessionId, now());
      case "lock":
        return sessions.lock(report.lock, now());
      case "lock_freed":
        return sessions.lockFreed(report.sessionId, now());
    }
  }

  const health = new Map<string, string | undefined>();
  const run = async (feed: Feed, ready: () => void) => {
    const port = {
      report: (report: Report) => taken(take(report, feed.name)),
      health: (problem: string | undefined) => {
        if (problem && health.get(feed.name) !== problem) log("warn", `${feed.name}: ${problem}`);
        health.set(feed.name, problem);
      },
      ready,
      clock,
      signal,
    };
    health.set(feed.name, undefined);
    while (!signal.aborted) {
      try {
        await feed.run(port);
      } catch (error) {
        log("error", `${feed.name} failed: ${describeBug(error)}`);
        health.set(feed.name, "failed, see the log");
      }
      ready();
      await wait(clock, RESTART_MS, signal);
    }
  };
  const ready = Promise.all(
    options.feeds.map((feed) => new Promise<void>((resolve) => void run(feed, resolve))),
  );
  void liveness.run();

  const handlers: Handlers<"sessions"> = {
    observe: (sighting) => {
      const at = sighting.at === undefined ? undefined : parseTime(sighting.at);
      taken(take({ kind: "sighting", sighting, ...(at === undefined ? {} : { at }) }, "observe"));
      return { ok: true };
    },
    end: (ending) => {
      const at = ending.at === undefined ? undefined : parseTime(ending.at);
      const report: Report = { kind: "end", ending, ...(at === undefined ? {} : { at }) };
      const done = { ended: false, changed: false };
      taken(
        take(report, "observe", () => {
          Object.assign(done, sessions.end(ending, now(), at));
          return done.changed;
        }),
      );
      return { ended: done.ended };
    },
    window: (report) => {
      taken(sessions.window(report, now()));
      return { ok: true };
    },
    "window-unregister": ({ key }) => {
      const { removed, changed } = sessions.windowUnregister(key, now());
      taken(changed);
      return { removed };
    },
    list: () => snapshotOf(sessions.list(now())),
    explain: ({ session_id }) => {
      const explanation = sessions.explain(session_id, now());
      if (!explanation) throw new ToolError("unknownSession", `unknown session: ${session_id}`);
      const { state, state_since } = explanation.session;
      const since = parseTime(state_since) ?? now();
      return { ...explanation, sightings: traces.of(session_id, state, since) };
    },
  };

  return {
    name: "sessions",
    handlers,
    streams: { subscribe: topic },
    raw: {
      hook: hookOp({ table: options.table, report: (report) => taken(take(report, "hook")) }),
    },
    ready: ready.then(() => {}),
    status: () => statusOf(sessions, [...health], now()),
  };
}

function statusOf(
  sessions: Sessions,
  health: [string, string | undefined][],
  now: number,
): ServiceStatus {
  const entries = sessions.list(now);
  const feeds: FeedHealth[] = health.map(([feed, problem]) =>
    problem ? { feed, problem } : { feed },
  );
  const problem = feeds.find((feed) => feed.problem);
  return {
    name: "sessions",
    healthy: !problem,
    summary: problem
      ? `${summaryOf(entries)}; ${problem.feed}: ${problem.problem}`
      : summaryOf(entries),
    detail: { sessions: entries, feeds },
  };
}

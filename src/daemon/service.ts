import type { Service as ServiceName, ServiceStatus } from "../core/protocol/ops.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "./log.ts";
import type { Topic } from "./topic.ts";

/** An op whose connection carries one header line and then raw bytes to the end of the stream. */
export interface RawOp {
  readonly maxBytes: number;
  /**
   * Takes the checked header and the whole body. What it returns is awaited and not sent: the
   * answer to a raw op is always `{ok:true}`. A client that is killed may leave a torn body.
   */
  run(header: unknown, body: Buffer): unknown;
}

/** What answers requests: one row of ops for one name. */
export interface Served {
  readonly name: ServiceName;
  /** Answers by op; typed with `Handlers` where they are defined. */
  readonly handlers: Readonly<Record<string, (payload: never) => unknown>>;
  /** Streams by op. */
  readonly streams: Readonly<Record<string, Topic>>;
  readonly raw?: Readonly<Record<string, RawOp>>;
}

/** A part of the daemon with ops of its own. */
export interface Service extends Served {
  status(): ServiceStatus;
}

/** What the daemon lends to its services. */
export interface ServiceContext {
  readonly clock: Clock;
  readonly log: Log;
  /** Aborts when the daemon has answered its last request. */
  readonly signal: AbortSignal;
  /** How often a topic looks for changes that nobody told it about. */
  readonly resampleMs: number;
}

import * as z from "zod/mini";
import { ToolError } from "./errors.ts";
import type { Explanation } from "./explanation.ts";
import {
  ending,
  hookHeader,
  type Snapshot,
  sessionKey,
  sighting,
  windowKey,
  windowReport,
} from "./session.ts";

/** Any payload will do: the op takes none. */
const nothing = z.unknown();
const reply = <T>() => undefined as unknown as T;

/** A service's row in `status`. */
export type ServiceStatus = { name: string; healthy: boolean; summary: string; detail: unknown };
export type DaemonStatus = { services: ServiceStatus[]; version: string };

/**
 * Every call a client can make. A call exists when it has a row here: its payload, what answers it,
 * and whether the answer is one line or a stream of them. `raw` ops take what follows their line,
 * to the end of the stream, as it is.
 */
export const ops = {
  daemon: {
    ping: { payload: nothing, reply: reply<{ pong: true }>(), stream: false },
    status: { payload: nothing, reply: reply<DaemonStatus>(), stream: false },
    shutdown: { payload: nothing, reply: reply<{ stopping: true }>(), stream: false },
  },
  sessions: {
    observe: { payload: sighting, reply: reply<{ ok: true }>(), stream: false },
    hook: { payload: hookHeader, reply: reply<{ ok: true }>(), stream: false, raw: true },
    end: { payload: ending, reply: reply<{ ended: boolean }>(), stream: false },
    window: { payload: windowReport, reply: reply<{ ok: true }>(), stream: false },
    "window-unregister": {
      payload: windowKey,
      reply: reply<{ removed: boolean }>(),
      stream: false,
    },
    list: { payload: nothing, reply: reply<Snapshot>(), stream: false },
    explain: { payload: sessionKey, reply: reply<Explanation>(), stream: false },
    subscribe: { payload: nothing, reply: reply<Snapshot>(), stream: true },
  },
} as const;

export type Service = keyof typeof ops;
export type Op<S extends Service> = keyof (typeof ops)[S] & string;
type Row = { payload: z.ZodMiniType; reply: unknown; stream: boolean; raw?: true };
type RowOf<S extends Service, O extends Op<S>> = (typeof ops)[S][O] extends infer R extends Row
  ? R
  : never;
export type Payload<S extends Service, O extends Op<S>> = z.input<RowOf<S, O>["payload"]>;
export type Parsed<S extends Service, O extends Op<S>> = z.output<RowOf<S, O>["payload"]>;
export type Reply<S extends Service, O extends Op<S>> = RowOf<S, O>["reply"];

/** The ops of a service that answer with one line. */
export type CallOp<S extends Service> = {
  [O in Op<S>]: RowOf<S, O> extends { stream: true } | { raw: true } ? never : O;
}[Op<S>];

/** The ops of a service that answer with a stream of lines. */
export type StreamOp<S extends Service> = {
  [O in Op<S>]: RowOf<S, O> extends { stream: true } ? O : never;
}[Op<S>];

/** What a service must provide: a row without a handler does not compile. */
export type Handlers<S extends Service> = {
  [O in CallOp<S>]: (payload: Parsed<S, O>) => Reply<S, O> | Promise<Reply<S, O>>;
};

/** A request as it stands on the wire. */
export type Request = { service: Service; op: string; payload: unknown };

const envelope = z.object({
  service: z.optional(z.nullable(z.string())),
  op: z.string(),
  payload: z.optional(z.unknown()),
});

/**
 * Reads one request line, payload unread.
 *
 * @throws ToolError `invalidPayload` when it is no request, `unknownOp` when nobody serves it.
 */
export function parseRequest(line: Uint8Array): Request {
  const request = envelope.safeParse(parseJson(line));
  if (!request.success)
    throw new ToolError("invalidPayload", `bad request: ${reasonOf(request.error)}`);
  const service = request.data.service ?? "daemon";
  if (!isService(service)) throw new ToolError("unknownOp", `unknown service: ${service}`);
  const { op } = request.data;
  if (!Object.hasOwn(ops[service], op))
    throw new ToolError("unknownOp", `unknown ${service} op: ${op}`);
  return { service, op, payload: request.data.payload ?? null };
}

/**
 * Checks the payload of a request that `parseRequest` let pass.
 *
 * @throws ToolError `invalidPayload` that names the field and what is wrong with it.
 */
export function parsePayload(request: Request): unknown {
  const row = (ops[request.service] as Record<string, Row>)[request.op];
  const payload = row?.payload.safeParse(request.payload);
  if (payload?.success) return payload.data;
  const reason = payload ? reasonOf(payload.error) : "no such op";
  throw new ToolError("invalidPayload", `bad ${request.service} ${request.op} payload: ${reason}`);
}

const isService = (name: string): name is Service => Object.hasOwn(ops, name);

function parseJson(line: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(line));
  } catch (cause) {
    throw new ToolError("invalidPayload", "bad request: not one line of JSON in UTF-8", { cause });
  }
}

function reasonOf(error: z.core.$ZodError): string {
  const [first] = error.issues;
  const where = first?.path.join(".");
  return where ? `${where}: ${first?.message}` : (first?.message ?? "not understood");
}

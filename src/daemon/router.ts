import { ToolError } from "../core/protocol/errors.ts";
import { parsePayload, parseRequest } from "../core/protocol/ops.ts";
import type { RawOp, Served } from "./service.ts";
import type { Topic } from "./topic.ts";

/** What a request asks for, its payload checked. */
export type Route =
  | { kind: "call"; run: () => unknown }
  | { kind: "stream"; topic: Topic }
  | { kind: "raw"; op: RawOp; header: unknown };

/** Finds what one request line asks for; throws a ToolError when nothing answers it. */
export type Router = (line: Uint8Array) => Route;

/** Routes requests to these services. */
export function routerOf(services: readonly Served[]): Router {
  const byName = new Map<string, Served>(services.map((service) => [service.name, service]));
  return (line) => {
    const request = parseRequest(line);
    const service = byName.get(request.service);
    if (!service) throw new ToolError("unknownOp", `unknown service: ${request.service}`);
    const payload = parsePayload(request);
    const raw = own(service.raw, request.op);
    if (raw) return { kind: "raw", op: raw, header: payload };
    const topic = own(service.streams, request.op);
    if (topic) return { kind: "stream", topic };
    const handler = own(service.handlers, request.op);
    if (!handler) throw new ToolError("unknownOp", `unknown ${request.service} op: ${request.op}`);
    // `Handlers` has tied each handler to its op where it was defined.
    return { kind: "call", run: () => (handler as (payload: unknown) => unknown)(payload) };
  };
}

/** A table of functions must not answer to `constructor`. */
function own<T>(table: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return table && Object.hasOwn(table, key) ? table[key] : undefined;
}

import type { Handlers } from "../core/protocol/ops.ts";
import { version } from "../core/protocol/version.ts";
import type { Served, Service } from "./service.ts";

/** The ops of the daemon itself. `stop` is called before the answer to `shutdown` is sent. */
export function builtinService(options: {
  services: readonly Service[];
  stop: () => void;
}): Served {
  const handlers: Handlers<"daemon"> = {
    ping: () => ({ pong: true }),
    status: () => ({ services: options.services.map((service) => service.status()), version }),
    shutdown: () => {
      options.stop();
      return { stopping: true };
    },
  };
  return { name: "daemon", handlers, streams: {} };
}

import type { LoadOptions } from "../../load/plan.ts";
import { protocolOf } from "./protocol.ts";
import type { Route } from "./route.ts";

/** The load for one route: its own path, host and protocol. */
export function routePlan(load: LoadOptions, { url, protocol = protocolOf(url) }: Route): LoadOptions {
  // gRPC's own default is its health check.
  const paths = protocol === "grpc" && url.pathname === "/" ? {} : { quick: `${url.pathname}${url.search}` };
  return { ...load, protocol, paths, host: url.host };
}

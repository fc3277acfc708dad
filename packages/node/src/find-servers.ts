import cluster from "node:cluster";
import { subscribe } from "node:diagnostics_channel";
import { isWatchable, isWatched } from "./servers.ts";
import type { Lameduck } from "./lameduck.ts";

/** Puts every server under watch as it begins to listen, and the workers of a cluster as they are forked. */
export function findServers(duck: Lameduck): Lameduck {
  subscribe("tracing:net.server.listen:asyncStart", (message) => {
    const { server } = message as { server: object };
    if (isWatchable(server) && !isWatched(server) && duck.phase === "serving") duck.add(server);
  });
  if (cluster.isPrimary) cluster.once("fork", () => duck.addWorkers());
  return duck;
}

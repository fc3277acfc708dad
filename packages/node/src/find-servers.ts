import cluster from "node:cluster";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { isWatchable, isWatched } from "./servers.ts";
import type { Lameduck } from "./lameduck.ts";

const channel = "tracing:net.server.listen:asyncStart";

/** Puts every server under watch as it begins to listen, and the workers of a cluster as they are forked. */
export function findServers(duck: Lameduck): Lameduck {
  const found = (message: unknown): void => {
    const { server } = message as { server: object };
    if (isWatchable(server) && !isWatched(server) && duck.phase === "serving") duck.add(server);
  };
  subscribe(channel, found);
  duck.atDetach(() => unsubscribe(channel, found));
  if (cluster.isPrimary) cluster.once("fork", () => duck.addWorkers());
  return duck;
}

import cluster from "node:cluster";
import { onListen } from "./internals.ts";
import { isWatchable, isWatched } from "./servers/servers.ts";
import type { Lameduck } from "./lameduck.ts";

/** Puts every server under watch as it begins to listen, and the workers of a cluster as they are forked. */
export function findServers(duck: Lameduck): Lameduck {
  const stop = onListen((server) => {
    if (isWatchable(server) && !isWatched(server) && duck.phase === "serving") duck.add(server);
  });
  duck.atDetach(stop);
  if (cluster.isPrimary) cluster.once("fork", () => duck.addWorkers());
  return duck;
}

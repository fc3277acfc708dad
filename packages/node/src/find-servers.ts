import cluster from "node:cluster";
import { subscribe } from "node:diagnostics_channel";
import { isWatchable, isWatched } from "./servers.ts";
import type { Lameduck } from "./lameduck.ts";

/** Puts every server under watch as it begins to listen, and the workers of a cluster as they are forked. */
export function findServers(duck: Lameduck): Lameduck {
  const early = process.pid === 1 ? rememberSignal() : undefined;
  subscribe("tracing:net.server.listen:asyncStart", (message) => {
    const { server } = message as { server: object };
    if (!isWatchable(server) || isWatched(server) || duck.phase !== "serving") return;
    duck.add(server);
    const late = early?.();
    if (late !== undefined) void duck.terminate("SIGTERM", late);
  });
  if (cluster.isPrimary) cluster.once("fork", () => duck.addWorkers());
  return duck;
}

/**
 * The kernel keeps SIGTERM from a process 1 that has no handler yet: a pod deleted while it starts up would then serve until SIGKILL.
 * To have one that does nothing changes nothing else, as for others the signal is lost either way.
 * @returns what forgets it, and says how long ago it came, in milliseconds.
 */
function rememberSignal(): () => number | undefined {
  let at: number | undefined;
  const remember = (): void => void (at ??= performance.now());
  process.on("SIGTERM", remember);
  return () => {
    process.removeListener("SIGTERM", remember);
    return at === undefined ? undefined : performance.now() - at;
  };
}

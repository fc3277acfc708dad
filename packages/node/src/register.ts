/**
 * `node --import @lameduck/node/register server.js`: the same for a server that does not know of us. Loading this file is the
 * whole interface, so that, unlike anywhere else in this package, importing it has an effect.
 */
import cluster from "node:cluster";
import { subscribe } from "node:diagnostics_channel";
import { DrainError } from "@lameduck/drain";
import { isMainThread } from "node:worker_threads";
import { LameduckError } from "./errors.ts";
import { Lameduck } from "./lameduck.ts";
import { isWatchable, isWatched } from "./servers.ts";

// Signals reach the main thread only, and servers of other threads cannot be seen from here.
if (isMainThread) register();

function register(): void {
  const duck = attempt();
  subscribe("tracing:net.server.listen:asyncStart", (message) => {
    const { server } = message as { server: object };
    if (!isWatchable(server) || isWatched(server) || duck.phase !== "serving") return;
    duck.add(server);
  });
  if (cluster.isPrimary) cluster.once("fork", () => duck.addWorkers());
}

/** A mistake in the environment stops the start, while the rollout can still fail on it, in one line and without a stack. */
function attempt(): Lameduck {
  try {
    return new Lameduck([], {}, "found");
  } catch (error) {
    if (!(error instanceof LameduckError) && !(error instanceof DrainError)) throw error;
    process.stderr.write(`lameduck: ${error.code}: ${error.message}; ${error.remedy}\n`);
    process.exit(2);
  }
}

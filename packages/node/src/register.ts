/**
 * `node --import @lameduck/node/register server.js`: the same for a server that does not know of us. Loading this file is the
 * whole interface, so that, unlike anywhere else in this package, importing it has an effect.
 */
import { isMainThread } from "node:worker_threads";
import { findServers } from "./find-servers.ts";
import { LameduckError } from "./errors.ts";
import { Lameduck } from "./lameduck.ts";

// Signals reach the main thread only, and servers of other threads cannot be seen from here.
if (isMainThread) findServers(attempt());

/** A mistake in the environment stops the start, while the rollout can still fail on it, in one line and without a stack. */
function attempt(): Lameduck {
  try {
    return new Lameduck([], {}, "found");
  } catch (error) {
    if (!(error instanceof LameduckError)) throw error;
    process.stderr.write(`lameduck: ${error.code}: ${error.message}; ${error.remedy}\n`);
    process.exit(2);
  }
}

import { Lameduck } from "./lameduck.ts";
import { mistake } from "./errors.ts";
import { findServers } from "./find-servers.ts";
import type { WatchedServer } from "./servers/servers.ts";
import type { LameduckOptions } from "./options/lameduck-options.ts";

/**
 * Keeps a server serving after SIGTERM until the evidence says that traffic has moved away, then closes it in order, inside the
 * grace period, and exits. Call it once, before or after listen().
 * @throws {LameduckError} for a wrong option or environment variable, or what is no server.
 */
export function lameduck(
  server: WatchedServer | readonly WatchedServer[],
  options: LameduckOptions = {},
): Lameduck {
  if (Array.isArray(server) && server.length === 0)
    throw mistake(
      "LAMEDUCK_NOT_A_SERVER",
      "server",
      "the list is empty; lameduckAll() finds servers as they listen",
    );
  return new Lameduck(Array.isArray(server) ? server : [server], options);
}

/**
 * The same for every server of the process, found as it begins to listen: for frameworks and gRPC servers that do not hand theirs
 * out. Call it before they listen.
 */
export function lameduckAll(options: LameduckOptions = {}): Lameduck {
  return findServers(new Lameduck([], options, "found"));
}

/** For the primary of a node:cluster: passes SIGTERM on to the workers, each of which calls lameduck(), and waits for them. */
export function lameduckPrimary(options: LameduckOptions = {}): Lameduck {
  return new Lameduck([], options).addWorkers();
}

export type { Lameduck } from "./lameduck.ts";
export type { State } from "./observed.ts";
export type { Acknowledgements } from "./coordinator/coordinator.ts";
export type { Mode } from "@lameduck/protocol/pod";
export { LameduckError, nodeErrors, type LameduckErrorCode } from "./errors.ts";
export type { Environment } from "./options/environment.ts";
export type * from "./events.ts";
export type { HookFunction, HookOptions, HookPhase } from "./closing/hooks.ts";
export type { FailingHealth } from "./options/health.ts";
export type { MetricsModule } from "./reports/metrics.ts";
export type { Readiness } from "./servers/health.ts";
export {
  probeAgents,
  type IsProbe,
  type IsStream,
  type ProbeOptions,
  type ProbeRequest,
  type StreamOptions,
} from "./options/requests.ts";
export type { WatchedServer } from "./servers/servers.ts";
export type { LameduckOptions } from "./options/lameduck-options.ts";
export type { Logger } from "./options/logger.ts";
export {
  DrainError,
  learn,
  type DrainErrorCode,
  type DrainOptions,
  type Learnt,
  type StopReason,
} from "@lameduck/drain";

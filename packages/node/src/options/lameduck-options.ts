// Written by `node packages/options/generate/main.ts` from packages/options/src/table.ts.
import type { DrainOptions, Duration } from "@lameduck/drain";
import type { Environment } from "./environment.ts";
import type { FailingHealth } from "./health.ts";
import type { Logger } from "./logger.ts";
import type { ProbeOptions, StreamOptions } from "./requests.ts";

/** Everything may be left out. Durations are "5s", "300ms" or milliseconds. */
export interface LameduckOptions extends DrainOptions {
  /** Longest time for hold and closing together. Default: grace - prestop. */
  timeout?: Duration;
  /**
   * The signals that begin a hold. Default: SIGTERM; in a pod SIGINT, too, unless it may be somebody's Ctrl-C.
   * False listens to none: call terminate().
   */
  signals?: boolean | readonly NodeJS.Signals[];
  /** SIGTERM handlers of others run when the hold is over (hold) or at once (leave). Default: hold. */
  otherHandlers?: "hold" | "leave";
  /**
   * An error that nobody catches ends the process at once (leave), or in order (close). Default: leave. In order
   * means without a hold, within the reserve, with exit code 1.
   */
  crashes?: "leave" | "close";
  /** Exit with `process.exitCode` or 0 when every lameduck() of the process has ended. Default: true. */
  exit?: boolean;
  /** Which requests are probes and hence no traffic, beside the well-known ones. The variable lists paths. */
  probes?: ProbeOptions;
  /** Which answers last as long as the client likes, beside server-sent events. The variable lists paths. */
  streams?: StreamOptions;
  /**
   * A health path that fails from SIGTERM on, and how long the load balancer takes to notice. Without `path` see
   * `readiness()`.
   */
  lbHealth?: FailingHealth;
  /** In this time all clients are asked to leave, so that pools do not all reconnect at once. Default: 1s. */
  ramp?: Duration;
  /**
   * After the hold, WebSockets and streams without an end are ended over this time, at an even rate. Default: one
   * a millisecond, 5s at most. It is a part of `grace` beside `reserve`.
   */
  spread?: Duration;
  /**
   * Where the cluster says whether all senders have stopped sending to this pod, "http://HOST:PORT". False asks
   * nobody. The pod's name, namespace and uid are in its environment.
   */
  coordinator?: string | false;
  /**
   * Policy acknowledged, while the cluster cannot release the pod: evidence decides (availability), or the cap.
   * Default: availability.
   */
  mode?: "availability" | "consistency";
  /**
   * Record each hold in this file or directory, for `lameduck explain`. At most 8 MB; until the termination the
   * latest 20,000 arrivals or more are kept in memory. It must be on a local volume.
   */
  trace?: string;
  /** Where phase lines go: a pino- or console-shaped logger, or false. Default: JSON lines on stderr. */
  log?: Logger | false;
  /** The variables of this table and of the platform. Default: process.env. */
  environment?: Environment;
}

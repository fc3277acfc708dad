import { parseDuration, type Duration } from "@lameduck/drain";
import { shown } from "@lameduck/drain/common";
import { badOption } from "../errors.ts";
import { isPath, nestedOptions, pathsAre } from "./nested-options.ts";

/**
 * A health path that is to fail while everything else is still served. Load balancers need it where they learn of a pod's end by their own checks. So
 * do terminations without a deletion: no endpoint moves then unless readiness fails.
 */
export interface FailingHealth {
  /** Without query. Requests for it are probes. Left out, the application's own route answers what readiness() says. */
  path?: string;
  /** Default 503. */
  status?: number;
  /** How long the load balancer takes to believe it: interval x threshold + time-out. The hold lasts at least so long. */
  wait: Duration;
}

export interface Health {
  readonly path: string | undefined;
  readonly status: number;
  readonly wait: number;
}

export function parseHealth(option: FailingHealth | undefined): Health | undefined {
  if (option === undefined) return undefined;
  const { path, status = 503, wait } = nestedOptions(option, "lbHealth", ["path", "status", "wait"]);
  if (path !== undefined && !isPath(path)) throw badOption("lbHealth.path", pathsAre);
  if (!Number.isInteger(status) || status < 400 || status > 599)
    throw badOption("lbHealth.status", `${shown(status)} is no failure: 400 to 599`);
  if (wait === undefined) throw badOption("lbHealth.wait", "say interval x threshold + time-out");
  return Object.freeze({ path, status, wait: parseDuration(wait, "lbHealth.wait") });
}

import type { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { parseDuration, type Duration } from "@lameduck/drain";
import { LameduckError } from "./errors.ts";
import { nestedOptions } from "./nested-options.ts";
import { pathOf } from "./probes.ts";

/**
 * A health path that is to fail while everything else is still served, for load balancers that learn of a pod's end by their own
 * checks, and for terminations without a deletion, where no endpoint moves unless readiness fails.
 */
export interface FailingHealth {
  /** Without query. Requests for it are probes. */
  path: string;
  /** Default 503. */
  status?: number;
  /** How long the load balancer takes to believe it: interval x threshold + time-out. The hold lasts at least so long. */
  wait: Duration;
}

export interface Health {
  readonly path: string;
  readonly status: number;
  readonly wait: number;
}

export function parseHealth(option: FailingHealth | undefined): Health | undefined {
  if (option === undefined) return undefined;
  const { path, status = 503, wait } = nestedOptions(option, "lbHealth", ["path", "status", "wait"]);
  if (typeof path !== "string" || !path.startsWith("/"))
    throw new LameduckError("LAMEDUCK_BAD_OPTION", "lbHealth.path", 'a path begins with "/"');
  if (!Number.isInteger(status) || status < 400 || status > 599)
    throw new LameduckError("LAMEDUCK_BAD_OPTION", "lbHealth.status", `${status} is no failure`);
  if (wait === undefined)
    throw new LameduckError("LAMEDUCK_BAD_OPTION", "lbHealth.wait", "say interval x threshold + time-out");
  return Object.freeze({ path, status, wait: parseDuration(wait, "lbHealth.wait") });
}

/**
 * Answers the path in the application's stead. Put in place only when the hold begins, so that it costs nothing before, and by
 * emit(), because a listener cannot keep the request from the other listeners.
 * @returns what puts the application back.
 */
export function failHealth(server: EventEmitter, health: Health): () => void {
  // oxlint-disable-next-line typescript/unbound-method -- called with its own `this`, and put back as it was
  const { emit } = server;
  const failing = function (this: EventEmitter, event: string | symbol, ...args: unknown[]): boolean {
    const [request, response] = args as [IncomingMessage | undefined, ServerResponse | undefined];
    if (event !== "request" || !response || pathOf(request?.url) !== health.path)
      return emit.call(this, event, ...args);
    response.writeHead(health.status, { "content-type": "text/plain" });
    response.end("terminating\n");
    return true;
  };
  server.emit = failing;
  return () => {
    if (server.emit === failing) server.emit = emit;
  };
}

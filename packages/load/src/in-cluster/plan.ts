import { withoutUndefined } from "@lameduck/drain/common";
import { protocolOf, hasCredentials } from "../routes/url.ts";
import type { LoadOptions } from "../plan.ts";
import type { Route } from "../routes/route.ts";
import type { RouteLoadOptions } from "../routes/route-load.ts";
import type { LoadProtocol } from "../protocols.ts";

/** What a pod of the load has to do: plan.json beside its program. */
export interface PodPlan {
  readonly routes: readonly (Omit<Route, "url" | "protocol"> & {
    readonly url: string;
    readonly protocol: LoadProtocol;
  })[];
  /** This pod's share; the paths and the host are each route's own. */
  readonly load: LoadOptions;
  readonly seed: number;
  /** How long the pod is kept after the last line, in milliseconds: its log is deleted with it. */
  readonly linger: number;
}

/** What all pods ask for together, as the plan of each. */
interface Whole extends Omit<RouteLoadOptions, "routes" | "clock"> {
  readonly routes: readonly Route[];
  readonly parallel: number;
}

export function planOf(
  { routes, parallel, rate, pooledShare, timeout, learn = 0, maxDuration, maxRequests, seed }: Whole,
  linger: number,
): PodPlan {
  return {
    routes: routes.map(({ name, url, protocol, request, tls }) =>
      withoutUndefined({ name, url: url.href, protocol: protocolOf(url, protocol), request, tls }),
    ),
    load: {
      rate: rate / parallel / routes.length,
      pooledShare,
      timeout,
      learn,
      maxDuration,
      maxRequests: Math.floor(maxRequests / parallel / routes.length),
    },
    seed,
    linger,
  };
}

/** Headers and bodies are credentials, as often as not: what has any is a Secret, and a ConfigMap else. */
export function isSecret(
  routes: readonly (Pick<Route, "request"> & { readonly url: URL | string })[],
): boolean {
  return routes.some(
    ({ url, request: { headers = [], body } = {} }) =>
      hasCredentials(new URL(url)) || headers.length > 0 || body !== undefined,
  );
}

/** Where it is mounted. */
export const programFolder = "/lameduck";
export const programFile = "load.mjs";
export const planFile = "plan.json";

import type { IncomingMessage } from "node:http";
import type { Route } from "../routes/route.ts";
import type { RouteLoadOptions } from "../routes/route-load.ts";
import { InClusterError } from "./errors.ts";
import type { LikePod } from "./manifests.ts";

/** What the load in the cluster needs of the API: the client of `rollout` has it. */
export interface Kube {
  get<T>(path: string, signal?: AbortSignal): Promise<T>;
  post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T>;
  delete<T>(path: string, body?: unknown, signal?: AbortSignal): Promise<T>;
  patch<T>(path: string, body: unknown, type: "merge-patch"): Promise<T>;
  stream(path: string, signal: AbortSignal): Promise<IncomingMessage>;
}

/** Any image with Node 22.2 or newer as `node` in its PATH. */
export const defaultImage = "docker.io/library/node:24-slim";

export interface InClusterOptions extends Omit<RouteLoadOptions, "routes"> {
  readonly kube: Kube;
  readonly namespace: string;
  readonly routes: readonly Route[];
  /** Pods that share the load. */
  readonly parallel: number;
  readonly image?: string;
  /** Nodes that are going to be drained: no pod of the load should be there. */
  readonly avoidNodes?: readonly string[];
  /** The target's pods: where they may run and their images may be pulled, those of the load may, too. */
  readonly like?: LikePod;
  readonly say?: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** @throws {InClusterError} LAMEDUCK_IN_CLUSTER_BAD_OPTION. */
export function checkInClusterOptions({
  parallel,
  routes,
  maxRequests,
}: Pick<InClusterOptions, "parallel" | "routes"> & { readonly maxRequests?: number | undefined }): void {
  if (routes.length === 0) throw badOption("--in-cluster", "needs a --url to send to");
  if (maxRequests !== undefined && maxRequests < parallel * routes.length)
    throw badOption(
      "--requests-max",
      `${maxRequests} is less than one request for each pod and URL (${parallel * routes.length})`,
    );
}

function badOption(option: string, problem: string): InClusterError {
  return new InClusterError("LAMEDUCK_IN_CLUSTER_BAD_OPTION", option, problem);
}

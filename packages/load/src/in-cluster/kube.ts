import type { IncomingMessage } from "node:http";

/** What the load in the cluster needs of the API: the client of `rollout` has it. */
export interface Kube {
  get<T>(path: string, signal?: AbortSignal): Promise<T>;
  post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T>;
  delete<T>(path: string, body?: unknown, signal?: AbortSignal): Promise<T>;
  patch<T>(path: string, body: unknown, type: "merge-patch"): Promise<T>;
  stream(path: string, signal: AbortSignal): Promise<IncomingMessage>;
}

import type { RequestRecord, RunClock } from "@lameduck/accounting";
import type { Cluster } from "../cluster/index.ts";
import { Fleet } from "../matrix/load/fleet.ts";
import type { PodObserver } from "../matrix/observe/pods.ts";
import { openRoute } from "../matrix/open-route.ts";

export interface SoakLoad {
  readonly cluster: Cluster;
  readonly clock: RunClock;
  readonly app: string;
  readonly pods: PodObserver;
  readonly requestsPerSecond: number;
  /** The load ends by itself then. */
  readonly lengthMs: number;
}

/** Requests through the Service's ClusterIP, half of them on kept-alive connections. */
export async function startLoad({
  requestsPerSecond,
  lengthMs,
  ...options
}: SoakLoad): Promise<{ end(): Promise<string> } & AsyncDisposable> {
  if (requestsPerSecond === 0)
    return { end: () => Promise.resolve("no load"), [Symbol.asyncDispose]: () => Promise.resolve() };
  const { sources } = await openRoute("cluster-ip", { ...options, proxies: [] });
  const fleet = new Fleet(options.cluster, {
    clock: options.clock,
    sources,
    newPerSecond: requestsPerSecond / 2,
    pooledPerSecond: requestsPerSecond / 2,
    slowShare: 0,
    maxSeconds: lengthMs / 1_000,
    podAt: (address) => options.pods.podAt(address),
  });
  return {
    end: async () => summary(await fleet.stop()),
    [Symbol.asyncDispose]: () => Promise.resolve(fleet.kill()),
  };
}

function summary(records: readonly RequestRecord[]): string {
  const failed = records.filter(({ outcome }) => outcome !== "ok");
  const kinds = Map.groupBy(failed, ({ mode, outcome }) => `${mode} ${outcome}`);
  const each = [...kinds].map(([kind, { length }]) => `${length} ${kind}`).join(", ");
  return `${records.length} requests, ${failed.length} failed${each === "" ? "" : ` (${each})`}`;
}

import { KubernetesClient } from "@lameduck/kube";
import { clusterConnection } from "@lameduck/kube/kubeconfig";
import type { Logger } from "pino";
import { type DiscoveredKind, discoveredCloud } from "./bound-groups.ts";
import { CallBudget } from "./call-budget.ts";
import { Discovery, type DiscoveryOptions } from "./discovery.ts";

interface Discoveries extends Pick<DiscoveryOptions, "coordinators" | "tokenFile" | "node"> {
  readonly discover: readonly DiscoveredKind[];
  readonly kubeconfig: string | undefined;
}

/** What `--discover` asks for. */
export function discoveries(
  { discover, kubeconfig, coordinators, tokenFile, node }: Discoveries,
  log: Pick<Logger, "info" | "warn">,
): { start(): Promise<void>; stop(): Promise<void> } {
  const client = new KubernetesClient(clusterConnection({ kubeconfig }));
  const all = [...new Set(discover)].map(
    (kind) =>
      new Discovery({
        client,
        cloud: discoveredCloud(kind, new CallBudget()),
        log,
        coordinators,
        tokenFile,
        node,
      }),
  );
  return {
    start: () => {
      for (const one of all) one.start();
      log.info({ discover }, "watching");
      return Promise.resolve();
    },
    stop: async () => {
      await Promise.all(all.map((one) => one.stop()));
    },
  };
}

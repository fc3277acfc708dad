import { operatorNames } from "@lameduck/protocol";
import type { Cluster } from "../cluster/index.ts";

/** A container with a volume of its pod. */
export interface Beside {
  readonly container: { readonly volumeMounts: readonly object[]; readonly [field: string]: unknown };
  readonly volume: object;
}

const { namespace, coordinator, watcher } = operatorNames;

/** A watcher as a container beside what it watches: what docs/operate/watchers.md adds to a pod. Undefined where no coordinator is installed. */
export async function watcherBeside(cluster: Cluster, flags: readonly string[]): Promise<Beside | undefined> {
  const installed = ["daemonset", watcher.workload, "-n", watcher.namespace, "--ignore-not-found"];
  const image = await cluster.field(installed, "{.spec.template.spec.containers[0].image}");
  if (image === "") return undefined;
  const token = { path: "token", audience: coordinator.audience, expirationSeconds: 3600 };
  const reportTo = `http://${coordinator.consumersService}.${namespace}.svc:${coordinator.ports.protocol}`;
  return {
    container: {
      name: "lameduck-watcher",
      image,
      imagePullPolicy: "IfNotPresent",
      args: ["watcher", `--coordinator=${reportTo}`, "--token-file=/token/token", ...flags],
      volumeMounts: [{ name: "lameduck-token", mountPath: "/token", readOnly: true }],
    },
    volume: { name: "lameduck-token", projected: { sources: [{ serviceAccountToken: token }] } },
  };
}

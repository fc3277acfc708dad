import { parseLearnt } from "@lameduck/drain";
import { type KubernetesObject, orUndefined, type Pod } from "@lameduck/kube";
import { operatorNames } from "@lameduck/operator";
import type { Cluster } from "../cluster/index.ts";

interface ConfigMap extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
}

export const learntPath = (namespace: string): string =>
  `/api/v1/namespaces/${namespace}/configmaps/${operatorNames.learntConfigMap}`;

/** How many terminations, or lessons, an entry rests on: "deployment.web" of a namespace, or "cluster" of the operator's own. */
export async function taught(cluster: Cluster, namespace: string, entry: string): Promise<number> {
  const found = await orUndefined(cluster.api.get<ConfigMap>(learntPath(namespace)), 404);
  return terminationsIn(found?.data?.[entry]?.split(" ")[1]);
}

/** The same of what the webhook tells a pod, which is made as a dry run. @param workload the Deployment that seems to make it. */
export async function told(cluster: Cluster, workload: string): Promise<number> {
  const owner = {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    name: `${workload}-1`,
    uid: "1",
    controller: true,
  };
  const pod = await cluster.api.post<Pod>("/api/v1/namespaces/default/pods?dryRun=All", {
    metadata: {
      generateName: `${workload}-1-`,
      labels: { app: workload, "pod-template-hash": "1" },
      ownerReferences: [owner],
    },
    spec: { containers: [{ name: "web", image: "lameduck.test/none:1", ports: [{ containerPort: 8080 }] }] },
  });
  return toldIn(pod);
}

export function toldIn({ spec }: Pod): number {
  const containers = spec.containers as readonly {
    readonly env?: readonly { readonly name: string; readonly value?: string }[];
  }[];
  const variables = containers.flatMap(({ env = [] }) => env);
  return terminationsIn(variables.find(({ name }) => name === "LAMEDUCK_LEARNT")?.value);
}

const terminationsIn = (text: string | undefined): number => parseLearnt(text)?.terminations ?? 0;

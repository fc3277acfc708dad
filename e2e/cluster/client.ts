import { text } from "node:stream/consumers";
import { Follower, KubernetesClient, type Change, type KubernetesObject } from "@lameduck/kube";
import { clusterConnection } from "@lameduck/kube/kubeconfig";

/** The proxies of this machine's environment lead out of it, and the cluster is inside. */
export function clientOf(kubeconfig: string): KubernetesClient {
  return new KubernetesClient(clusterConnection({ kubeconfig, env: {} }));
}

export async function isReady(api: KubernetesClient): Promise<boolean> {
  return (await text(await api.stream("/readyz", AbortSignal.timeout(30_000)))) === "ok";
}

/** What is there, and each change from now on. A collection that can no longer be followed ends the test. */
export async function follow<T extends KubernetesObject>(
  api: KubernetesClient,
  path: string,
  query: Readonly<Record<string, string>>,
  onChange: (change: Change<T>) => void,
): Promise<Follower<T>> {
  const onFailure = (error: Error): never => {
    throw error;
  };
  const follower = new Follower<T>(api, { path, query, onChange, onFailure });
  await follower.start();
  return follower;
}

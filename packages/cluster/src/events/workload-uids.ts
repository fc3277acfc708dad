import { type KubernetesClient, type KubernetesObject, orUndefined } from "@lameduck/kube";
import type { WorkloadName } from "../objects.ts";

const apps = new Set(["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"]);
const most = 1_000;

/** UIDs of workloads, read at the first Event of each: `kubectl describe` shows only Events that name the UID. */
export class WorkloadUids {
  readonly #client: KubernetesClient;
  readonly #known = new Map<string, string | undefined>();

  constructor(client: KubernetesClient) {
    this.#client = client;
  }

  /** Undefined where the kind is unknown here, or the workload is gone or may not be read. */
  async of(
    namespace: string,
    { kind, name }: WorkloadName,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    if (!apps.has(kind)) return undefined;
    const key = `${namespace}/${kind}/${name}`;
    if (this.#known.has(key)) return this.#known.get(key);
    const path = `/apis/apps/v1/namespaces/${namespace}/${kind.toLowerCase()}s/${name}`;
    const found = await orUndefined(this.#client.get<KubernetesObject>(path, signal), 403, 404);
    const uid = found?.metadata.uid;
    if (this.#known.size >= most) this.#known.clear();
    this.#known.set(key, uid);
    return uid;
  }
}

export function apiVersionOf(kind: string): string | undefined {
  return apps.has(kind) ? "apps/v1" : kind === "Pod" || kind === "ConfigMap" ? "v1" : undefined;
}

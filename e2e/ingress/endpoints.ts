import type { Cluster, KubernetesObject } from "../cluster/index.ts";

export interface ReadyEndpoint {
  readonly pod: string;
  readonly address: string;
  readonly port: number;
}

interface Slice extends KubernetesObject {
  readonly endpoints:
    | readonly {
        readonly addresses: readonly string[];
        readonly conditions: { readonly ready?: boolean };
        readonly targetRef?: { readonly name: string };
      }[]
    | null;
  readonly ports: readonly { readonly port?: number }[] | null;
}

/**
 * The ready endpoints of a Service, told whenever they have changed, but no more often than the throttle allows: what ingress controllers
 * follow. Terminating endpoints are not ready.
 */
export class EndpointFollower implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #slices = new Map<string, readonly ReadyEndpoint[]>();
  readonly #following: Promise<void>;
  readonly #throttleMs: number;
  readonly #apply: (endpoints: readonly ReadyEndpoint[]) => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #applying: Promise<void> = Promise.resolve();

  constructor(
    cluster: Cluster,
    service: string,
    throttleMs: number,
    apply: (endpoints: readonly ReadyEndpoint[]) => Promise<void>,
  ) {
    this.#throttleMs = throttleMs;
    this.#apply = apply;
    this.#following = this.#follow(cluster, service);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    clearTimeout(this.#timer);
    await this.#following;
    await this.#applying;
  }

  async #follow(cluster: Cluster, service: string): Promise<void> {
    const { signal } = this.#stop;
    const path = `/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name%3D${service}`;
    while (!signal.aborted) {
      try {
        for await (const { type, object } of cluster.api.watch<Slice>(path, signal)) {
          if (type === "DELETED") this.#slices.delete(object.metadata.name);
          else if (type === "ADDED" || type === "MODIFIED")
            this.#slices.set(object.metadata.name, readyOf(object));
          this.#schedule();
        }
      } catch {
        // The API server is away; what was known stays in force.
      }
      if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#stop.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const endpoints = [...this.#slices.values()].flat();
      this.#applying = this.#applying.then(() => this.#apply(endpoints));
    }, this.#throttleMs);
  }
}

function readyOf({ endpoints, ports }: Slice): ReadyEndpoint[] {
  const port = ports?.[0]?.port;
  if (port === undefined) return [];
  return (endpoints ?? []).flatMap(({ addresses, conditions, targetRef }) => {
    const [address] = addresses;
    if (conditions.ready !== true || address === undefined || targetRef === undefined) return [];
    return [{ pod: targetRef.name, address, port }];
  });
}

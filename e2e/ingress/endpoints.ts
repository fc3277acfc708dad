import type { EndpointSlice, Follower } from "@lameduck/kube";
import { follow, type Cluster } from "../cluster/index.ts";

export interface ReadyEndpoint {
  readonly pod: string;
  readonly address: string;
  readonly port: number;
}

/** Changes that come together are applied together. */
const settleMs = 200;

/**
 * The ready endpoints of a Service, told a moment after they have changed: what ingress controllers follow. Terminating endpoints are not
 * ready.
 */
export class EndpointFollower implements AsyncDisposable {
  readonly #slices = new Map<string, readonly ReadyEndpoint[]>();
  readonly #apply: (endpoints: readonly ReadyEndpoint[]) => Promise<void>;
  #following: Follower<EndpointSlice> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #applying: Promise<void> = Promise.resolve();

  private constructor(apply: (endpoints: readonly ReadyEndpoint[]) => Promise<void>) {
    this.#apply = apply;
  }

  static async start(
    cluster: Cluster,
    service: string,
    apply: (endpoints: readonly ReadyEndpoint[]) => Promise<void>,
  ): Promise<EndpointFollower> {
    const endpoints = new EndpointFollower(apply);
    endpoints.#following = await follow<EndpointSlice>(
      cluster.api,
      "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
      { labelSelector: `kubernetes.io/service-name=${service}` },
      ({ type, object }) => {
        if (type === "gone") endpoints.#slices.delete(object.metadata.name);
        else endpoints.#slices.set(object.metadata.name, readyOf(object));
        endpoints.#schedule();
      },
    );
    return endpoints;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#following?.stop();
    clearTimeout(this.#timer);
    await this.#applying;
  }

  #schedule(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const endpoints = [...this.#slices.values()].flat();
      this.#applying = this.#applying.then(() => this.#apply(endpoints));
    }, settleMs);
  }
}

function readyOf({ endpoints, ports }: EndpointSlice): ReadyEndpoint[] {
  const port = ports?.[0]?.port;
  if (port === undefined) return [];
  return (endpoints ?? []).flatMap(({ addresses, conditions, targetRef }) => {
    const [address] = addresses;
    const pod = targetRef?.name;
    if (conditions?.ready !== true || address === undefined || pod === undefined) return [];
    return [{ pod, address, port }];
  });
}

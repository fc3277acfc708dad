import type { RunClock, SenderEvent } from "@lameduck/accounting";
import type { Cluster } from "../cluster/index.ts";

/** A reverse proxy in a pod, kept up to date by its controller. */
export interface Ingress extends AsyncDisposable {
  /** Where clients call it. */
  readonly url: string;
  readonly name: string;
  /** Else it sends to the Service, and knows no pods. */
  readonly sendsToPods: boolean;
  /** When it took up and dropped pods, as far as the proxy has confirmed. */
  readonly events: readonly SenderEvent[];
  /** The pods that it sends to now. */
  readonly reaches: ReadonlySet<string>;
}

export interface IngressOptions {
  readonly cluster: Cluster;
  readonly clock: RunClock;
  readonly service: string;
  /** To which the ingress sends: the pods themselves, or the Service's address and so the node's kube-proxy ("service-upstream"). */
  readonly upstream: "pods" | "service";
}

/** A test's processes reach its directory below the node's /run as files. */
export const ingressNode = "node1";

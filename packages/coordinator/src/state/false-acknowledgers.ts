import { isNodeProxy } from "@lameduck/senders";
import type { Consumers } from "./consumers.ts";
import type { Nodes } from "./nodes.ts";
import type { Pods } from "./pods.ts";
import type { Overruling, Termination } from "./termination.ts";

interface FalseAcknowledgersOptions {
  readonly pods: Pods;
  readonly nodes: Nodes;
  readonly consumers: Consumers;
  /** Consumers that a pod reports for: the proxy's own pod, where the watcher runs beside it. */
  readonly reportedBy: (podUid: string) => readonly string[];
}

/**
 * Finds the consumers on whose reports a release rests, and that sent the pod a connection after it, as the pod says. The connection's source
 * address tells: it is that of a proxy, of a node, or of a pod on a node. A sender outside the cluster gives no consumer.
 */
export class FalseAcknowledgers {
  readonly #options: FalseAcknowledgersOptions;

  constructor(options: FalseAcknowledgersOptions) {
    this.#options = options;
  }

  of({ sequence, state, node: own }: Termination, source: string): Overruling {
    const [address = ""] = source.replace(/^::ffff:(?=\d+\.)/, "").split(/[\s,]/, 1);
    const { pods, nodes, consumers, reportedBy } = this.#options;
    const pod = pods.at(address);
    const host = pod === undefined ? (nodes.at(address) ?? nodes.around(address)) : undefined;
    const node = host ?? pod?.node;
    const overruler =
      pod !== undefined
        ? `pod ${pod.metadata.namespace}/${pod.metadata.name}${node === undefined ? "" : ` on ${node}`}`
        : host && `node ${host}`;
    const sharing = host === undefined ? [] : consumers.sharingNode(host);
    // The kubelet probes from the node's own address. An ingress that shares the node's network may have been the sender, too.
    if (host !== undefined && host === own && sharing.every((one) => isNodeProxy(one)))
      return { falseAcknowledgers: [], overruler, mayBeProbe: true };
    if (sequence === undefined || state !== "released")
      return { falseAcknowledgers: [], overruler, mayBeProbe: false };
    const reporting = pod ? reportedBy(pod.metadata.uid).map((key) => consumers.get(key)) : [];
    const suspects =
      reporting.length > 0 ? reporting : host ? sharing : node === undefined ? [] : consumers.proxiesOf(node);
    const falseAcknowledgers = suspects.flatMap((one) =>
      one?.hasApplied(sequence) === true ? [one.key] : [],
    );
    return { falseAcknowledgers, overruler, mayBeProbe: false };
  }
}

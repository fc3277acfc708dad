import type { Consumer } from "./state/consumer.ts";
import type { Consumers } from "./state/consumers.ts";
import type { Nodes } from "./state/nodes.ts";
import type { Pods } from "./state/pods.ts";
import type { TerminationRecord } from "./state/record.ts";

export interface EarlyReportersOptions {
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
export class EarlyReporters {
  readonly #options: EarlyReportersOptions;

  constructor(options: EarlyReportersOptions) {
    this.#options = options;
  }

  of({ number, state }: TerminationRecord, source: string): readonly string[] {
    if (number === undefined || state !== "released") return [];
    const [address = ""] = source.replace(/^::ffff:(?=\d+\.)/, "").split(/[\s,]/, 1);
    const { pods, nodes, consumers, reportedBy } = this.#options;
    const hasReported = (one: Consumer | undefined): one is Consumer => one?.hasApplied(number) === true;
    const pod = pods.at(address);
    const own = pod ? reportedBy(pod.metadata.uid).map((key) => consumers.get(key)) : [];
    if (own.length > 0) return own.filter(hasReported).map(({ key }) => key);
    const node = nodes.at(address) ?? pod?.node;
    if (node === undefined) return [];
    const onNode = nodes.at(address) === undefined ? consumers.proxiesOf(node) : consumers.sharingNode(node);
    return onNode.filter(hasReported).map(({ key }) => key);
  }
}

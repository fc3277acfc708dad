import type { Consumer } from "./state/consumer.ts";
import type { Consumers } from "./state/consumers.ts";
import type { Nodes } from "./state/nodes.ts";
import type { Pods } from "./state/pods.ts";
import type { TerminationRecord } from "./state/record.ts";

export interface SuspectsOptions {
  readonly pods: Pods;
  readonly nodes: Nodes;
  readonly consumers: Consumers;
  /** Consumers that a pod reports for: the proxy's own pod, where the watcher runs beside it. */
  readonly reportedBy: (podUid: string) => readonly string[];
}

/**
 * Who had reported that it let go of a pod, and yet sent it a connection, by the address from which that came: the proxy that has this address,
 * else what sends for the node that has it, or whose pod has it. Nobody, where the sender is outside the cluster.
 */
export class Suspects {
  readonly #options: SuspectsOptions;

  constructor(options: SuspectsOptions) {
    this.#options = options;
  }

  of({ number }: TerminationRecord, said: string): readonly string[] {
    if (number === undefined) return [];
    const [address = ""] = said.replace(/^::ffff:(?=\d+\.)/, "").split(/[\s,]/, 1);
    const { pods, nodes, consumers, reportedBy } = this.#options;
    const hasSaidSo = (one: Consumer | undefined): one is Consumer => one?.hasApplied(number) === true;
    const pod = pods.at(address);
    const own = pod ? reportedBy(pod.metadata.uid).map((key) => consumers.get(key)) : [];
    if (own.length > 0) return own.filter(hasSaidSo).map(({ key }) => key);
    const node = nodes.at(address) ?? pod?.node;
    if (node === undefined) return [];
    const onNode = nodes.at(address) === undefined ? consumers.ofNode(node) : consumers.on(node);
    return onNode.filter(hasSaidSo).map(({ key }) => key);
  }
}

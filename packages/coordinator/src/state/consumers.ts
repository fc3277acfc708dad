import { balancers, isNodeProxy } from "@lameduck/senders";
import { Consumer, type NamedState } from "./consumer.ts";

/** From its last report until a consumer is dropped from memory. */
const forgottenAfterMs = 3_600_000;
/** More consumers than any cluster has: a mistake, or an attack. */
const mostConsumers = 20_000;

/** All consumers that have reported in this run. */
export class Consumers {
  readonly #all = new Map<string, Consumer>();
  readonly #byNode = new Map<string, Consumer[]>();
  readonly #serving = new Map<string, readonly Consumer[]>();
  readonly #onNode: (node: string, now: number) => void;
  #version = 0;

  /** @param onNode called when somebody begins to report for a node. */
  constructor(onNode: (node: string, now: number) => void = () => undefined) {
    this.#onNode = onNode;
  }

  /** Changes when a consumer comes, goes, or serves something else; its watermark does not change it. */
  get version(): number {
    return this.#version;
  }

  get size(): number {
    return this.#all.size;
  }

  get all(): Iterable<Consumer> {
    return this.#all.values();
  }

  get(key: string): Consumer | undefined {
    return this.#all.get(key);
  }

  /** @returns none where there are too many. */
  report(report: NamedState, now: number): Consumer | undefined {
    const known = this.#all.get(`${report.kind}/${report.name}`);
    if (!known && this.#all.size >= mostConsumers) return undefined;
    const consumer = known ?? new Consumer(report, now);
    const isElsewhere =
      known === undefined ||
      known.node !== report.node ||
      (known.serves !== report.serves && known.serves.join() !== report.serves.join());
    if (isElsewhere && known) this.remove(known);
    consumer.report(report, now);
    if (isElsewhere) this.#add(consumer, now);
    return consumer;
  }

  /** The consumers that carry the node's own traffic. */
  proxiesOf(node: string): readonly Consumer[] {
    return this.#byNode.get(node) ?? none;
  }

  /** All consumers of the node: its own proxy, and proxies that share its address. */
  sharingNode(node: string): readonly Consumer[] {
    return [...this.#all.values()].filter((one) => one.node === node);
  }

  /** The consumers that serve a need: "ingress-class/nginx", "load-balancer/aws/shop/web", "consumer/http/cdn". */
  serving(need: string): readonly Consumer[] {
    let found = this.#serving.get(need);
    if (!found) {
      found = [...this.#all.values()].filter((one) => isServing(one, need));
      this.#serving.set(need, found);
    }
    return found;
  }

  /** Drops consumers without a recent report. */
  forget(now: number): void {
    for (const one of this.#all.values()) if (now - one.heardAt > forgottenAfterMs) this.remove(one);
  }

  #add(consumer: Consumer, now: number): void {
    this.#version++;
    this.#all.set(consumer.key, consumer);
    this.#serving.clear();
    if (!isNodeProxy(consumer) || consumer.node === undefined) return;
    this.#byNode.set(consumer.node, [...this.proxiesOf(consumer.node), consumer]);
    this.#onNode(consumer.node, now);
  }

  remove(consumer: Consumer): void {
    this.#version++;
    this.#all.delete(consumer.key);
    this.#serving.clear();
    if (consumer.node === undefined) return;
    const others = this.proxiesOf(consumer.node).filter((one) => one !== consumer);
    if (others.length > 0) this.#byNode.set(consumer.node, others);
    else this.#byNode.delete(consumer.node);
  }
}

const none: readonly Consumer[] = [];
/** What may be guessed by its name. */
const guessed: ReadonlySet<string> = new Set(["ingress-class", "gateway-class", "proxy"]);

/**
 * What a consumer reports to serve counts. Else it is the class, or the proxy, that is called like its kind. No other name is guessed: the proxy of class
 * "nginx-internal" says nothing for "nginx-public", nor an Envoy of a gateway for the sidecars of "mesh/envoy". A consumer that is declared is found by its
 * name, or by a name that all replicas of a proxy serve: each has a name of its own, which nobody knows beforehand.
 */
function isServing(consumer: Consumer, need: string): boolean {
  const [what = "", name = "", ...rest] = need.split("/");
  const { kind, serves } = consumer;
  if (what === "consumer")
    return consumer.key === [name, ...rest].join("/") || (name === kind && serves.includes(need));
  if (serves.length > 0)
    return serves.includes(need) || (what === balancers && serves.includes(`${what}/${name}`));
  return guessed.has(what) && name === kind && !isNodeProxy(consumer);
}

import { Consumer, type Report } from "./consumer.ts";

/** Kinds that stand for the way from a node's network to pods: every node has one. */
const nodeKinds: ReadonlySet<string> = new Set(["kube-proxy", "cilium"]);

/** What a consumer says when it stands for its node, whatever its kind. */
export const servesNode = "node";

/** Consumers that are heard no more are forgotten, milliseconds: a name that is gone must not keep the memory. */
const forgottenAfter = 3_600_000;
/** More names than that are no cluster: a mistake, or an attack. */
export const mostConsumers = 20_000;

/** All consumers that have reported in this run. */
export class Consumers {
  readonly #all = new Map<string, Consumer>();
  readonly #byNode = new Map<string, Consumer[]>();
  readonly #serving = new Map<string, readonly Consumer[]>();

  #version = 0;

  /** Changes with who they are and what they serve, not with what they report. */
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
  report(report: Report, now: number): Consumer | undefined {
    const known = this.#all.get(`${report.kind}/${report.name}`);
    if (!known && this.#all.size >= mostConsumers) return undefined;
    const consumer = known ?? new Consumer(report, now);
    const isElsewhere =
      known === undefined ||
      known.node !== report.node ||
      (known.serves !== report.serves && known.serves.join() !== report.serves.join());
    if (isElsewhere && known) this.remove(known);
    consumer.report(report, now);
    if (isElsewhere) this.#add(consumer);
    return consumer;
  }

  /** Those that stand for a node's own way to pods. */
  ofNode(node: string): readonly Consumer[] {
    return this.#byNode.get(node) ?? none;
  }

  /** All that speak of this node: its own proxy, and proxies that share its address. */
  on(node: string): readonly Consumer[] {
    return [...this.#all.values()].filter((one) => one.node === node);
  }

  /** Those that lead to something: "ingress-class/nginx", "load-balancer/aws", "consumer/http/cdn". */
  serving(need: string): readonly Consumer[] {
    let found = this.#serving.get(need);
    if (!found) {
      found = [...this.#all.values()].filter((one) => leadsTo(one, need));
      this.#serving.set(need, found);
    }
    return found;
  }

  /** Those that have not been heard for long. */
  forget(now: number): void {
    for (const one of this.#all.values()) if (now - one.heardAt > forgottenAfter) this.remove(one);
  }

  #add(consumer: Consumer): void {
    this.#version++;
    this.#all.set(consumer.key, consumer);
    this.#serving.clear();
    if (!standsForNode(consumer) || consumer.node === undefined) return;
    this.#byNode.set(consumer.node, [...this.ofNode(consumer.node), consumer]);
  }

  remove(consumer: Consumer): void {
    this.#version++;
    this.#all.delete(consumer.key);
    this.#serving.clear();
    if (consumer.node === undefined) return;
    const others = this.ofNode(consumer.node).filter((one) => one !== consumer);
    if (others.length > 0) this.#byNode.set(consumer.node, others);
    else this.#byNode.delete(consumer.node);
  }
}

const none: readonly Consumer[] = [];

export function standsForNode({ kind, serves }: Pick<Consumer, "kind" | "serves">): boolean {
  return nodeKinds.has(kind) || serves.includes(servesNode);
}

/** What is said counts; else the name of a class tells the kind: class "nginx-internal" is served by nginx. */
function leadsTo(consumer: Consumer, need: string): boolean {
  const [what = "", ...rest] = need.split("/");
  const name = rest.join("/");
  if (what === "consumer") return consumer.key === name;
  if (consumer.serves.length > 0) return consumer.serves.includes(need);
  if (standsForNode(consumer)) return false;
  return name === consumer.kind || name.toLowerCase().includes(consumer.kind);
}

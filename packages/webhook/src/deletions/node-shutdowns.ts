import {
  type Change,
  type KubernetesObject,
  type Node,
  orUndefined,
  type Pod,
  type Source,
} from "@lameduck/kube";
import { followed, following, identityOf } from "@lameduck/cluster";
import { systemNamespaces } from "@lameduck/inject";
import { WakeableDelay } from "../wakeable-delay.ts";
import type { Dependencies } from "./deletions.ts";
import { markOf } from "./mark.ts";
import { reasonNotToHoldPod } from "./not-held.ts";

/** The kubelet's own words in the condition Ready, once logind has told it. Nodes are not ready for other reasons, too. */
const words = "node is shutting down";

/** Between two looks at the pods of a node that shuts down: those that were a last endpoint may have got another beside them. */
const lookIntervalMs = 1_000;
/** Between two looks where no node shuts down; news of nodes come sooner. */
const idleMs = 30_000;
/**
 * Pods that are withdrawn at the same time. Each takes some calls: with fewer at once the last pod of a node would wait for seconds, and more
 * would keep the API server from others.
 */
const atOnce = 10;
/** A mark stands for so long where nobody says any more whether the node is back. */
const markStandsMs = 600_000;

type NodeState = "ready" | "shutting down" | "not ready";

interface SlimNode extends KubernetesObject {
  readonly state: NodeState;
}

/** Uids of the pods of a node: those that were withdrawn, and those that cannot be. */
interface Judged {
  readonly going: Set<string>;
  readonly staying: Set<string>;
}

export interface NodeShutdownsOptions {
  readonly dependencies: Dependencies;
  /** Namespaces whose pods are withdrawn; undefined where nobody could look. */
  readonly enabled: () => ReadonlySet<string> | undefined;
  readonly isLeader: () => boolean;
  readonly onWithdrawn: (pod: Pod) => void;
}

/**
 * Withdraws the pods of nodes that shut down gracefully. Their kubelet ends them without a deletion: their endpoints stay ready to the end, and it asks
 * no readiness probe any more.
 */
export class NodeShutdowns {
  readonly #options: NodeShutdownsOptions;
  readonly #source: Source<SlimNode>;
  readonly #nodes = new Map<string, NodeState>();
  readonly #judged = new Map<string, Judged>();
  readonly #stopping = new AbortController();
  readonly #delay = new WakeableDelay();
  #running: Promise<void> = Promise.resolve();

  constructor(options: NodeShutdownsOptions) {
    this.#options = options;
    const { client, onProblem } = options.dependencies;
    this.#source = following(client, { onProblem })(followed.nodes, slimNode, (change) => this.#take(change));
  }

  /** Whether a pod's labels may be put back: only then does anything come to it again. */
  isBack(node: string | undefined): boolean {
    return node !== undefined && this.#nodes.get(node) === "ready";
  }

  start(): void {
    this.#source.start();
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.#source.stop(), this.#running]);
  }

  #take({ type, object }: Change<SlimNode>): void {
    const { name } = object.metadata;
    if (type === "gone") this.#nodes.delete(name);
    else this.#nodes.set(name, object.state);
    if (type === "gone" || object.state === "ready") this.#judged.delete(name);
    if (object.state === "shutting down") this.#delay.wake();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    const { isLeader, dependencies } = this.#options;
    while (!signal.aborted) {
      const ending = [...this.#nodes].flatMap(([name, state]) => (state === "shutting down" ? [name] : []));
      if (isLeader())
        for (const node of ending)
          await this.#withdrawFrom(node).catch((error: unknown) => {
            if (!signal.aborted) dependencies.onProblem("node-shutdowns", error);
          });
      await this.#delay.wait(ending.length > 0 ? lookIntervalMs : idleMs, signal);
    }
  }

  async #withdrawFrom(node: string): Promise<void> {
    const { client, endpoints, onProblem } = this.#options.dependencies;
    const { signal } = this.#stopping;
    const enabled = this.#options.enabled();
    if (!enabled || !endpoints.isKnown) return;
    const selector = encodeURIComponent(`spec.nodeName=${node}`);
    const judged = this.#judged.get(node) ?? { going: new Set(), staying: new Set() };
    this.#judged.set(node, judged);
    const all = await client.list<Pod>(`/api/v1/pods?fieldSelector=${selector}`, signal);
    const left = all
      .filter((pod) => enabled.has(pod.metadata.namespace ?? "") && this.#isTouched(pod))
      .filter(({ metadata }) => !judged.staying.has(metadata.uid))
      .values();
    // All workers take from one list.
    const worker = async (): Promise<void> => {
      for (const pod of left) {
        if (signal.aborted) return;
        try {
          if (await this.#withdraw(pod, judged)) this.#options.onWithdrawn(pod);
        } catch (error) {
          onProblem("node-shutdowns", error);
        }
      }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
  }

  #isTouched(pod: Pod): boolean {
    const { ownNamespace } = this.#options.dependencies.settings;
    const { namespace = "" } = pod.metadata;
    if (namespace === ownNamespace || systemNamespaces.includes(namespace)) return false;
    // A pod that holds itself gains most.
    return (reasonNotToHoldPod(pod) ?? "injected") === "injected" && markOf(pod)?.step !== "withdrawn";
  }

  /** @returns false for a pod that stays, for good or for now: as the last ready endpoint it is better than none. */
  async #withdraw(pod: Pod, { going, staying }: Judged): Promise<boolean> {
    const { pods, endpoints, now } = this.#options.dependencies;
    const mark = markOf(pod);
    const facts = await pods.factsFor(pod, mark);
    if (!facts) return false;
    const { uid } = pod.metadata;
    if ("because" in facts.plan) {
      staying.add(uid);
      return false;
    }
    // Also of other nodes: several may shut down at once, and their withdrawals are heard of later.
    const all = new Set([...this.#judged.values()].flatMap((one) => [...one.going]));
    if (endpoints.isLastReady(facts.services, uid, all)) return false;
    going.add(uid);
    const at = now();
    const marked = { by: "shutdown", began: at, stepBegan: at, until: at + markStandsMs } as const;
    let isWithdrawn = false;
    try {
      const patched = pods.withdraw(pod, facts.plan.remove, marked, mark);
      // 404, 409: it is gone, or another has its name.
      isWithdrawn = (await orUndefined(patched, 404, 409)) !== undefined;
    } finally {
      if (!isWithdrawn) going.delete(uid);
    }
    return isWithdrawn;
  }
}

function slimNode(object: KubernetesObject): SlimNode {
  const { status } = object as Node;
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const isEnding = ready?.status === "False" && ready.message?.includes(words) === true;
  const state = ready?.status === "True" ? "ready" : isEnding ? "shutting down" : "not ready";
  return { metadata: identityOf(object.metadata), state };
}

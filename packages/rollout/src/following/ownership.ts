import { type Change, controllerOf, type KubernetesObject, type Pod } from "@lameduck/kube";
import { heldMark } from "@lameduck/protocol";
import { hasReplicaSets } from "../target-reference.ts";
import type { Target } from "../target.ts";

/**
 * Passes on the changes of the target's pods. Selectors of workloads may overlap, and owner references by UID do not. A pod that becomes
 * known before its ReplicaSet waits for it, as the two are followed by watches of their own.
 */
export class OwnedPods {
  readonly #owner: string | undefined;
  readonly #throughSets: boolean;
  readonly #take: (change: Change<Pod>) => void;
  readonly #left: (pod: Pod) => void;
  /** ReplicaSets by UID, and whether they are the target's. */
  readonly #sets = new Map<string, boolean>();
  /** The first and the last change of each pod, by ReplicaSet and pod. Pods of a neighbour whose ReplicaSet is not followed stay here. */
  readonly #waiting = new Map<string, Map<string, Change<Pod>[]>>();
  /** UIDs of pods that were passed on. */
  readonly #own = new Set<string>();

  /** @param left is called with a pod that was the target's and has been given up by its controller. */
  constructor(
    { owner }: Target,
    take: (change: Change<Pod>) => void,
    left: (pod: Pod) => void = () => undefined,
  ) {
    this.#owner = owner?.object.metadata.uid;
    this.#throughSets = owner !== undefined && hasReplicaSets(owner.reference.kind);
    this.#take = take;
    this.#left = left;
  }

  takeSet({ object }: Change<KubernetesObject>): void {
    const { uid } = object.metadata;
    this.#sets.set(uid, controllerOf(object)?.uid === this.#owner);
    const waiting = this.#waiting.get(uid);
    this.#waiting.delete(uid);
    for (const changes of waiting?.values() ?? []) for (const change of changes) this.takePod(change);
  }

  takePod(change: Change<Pod>): void {
    const { object } = change;
    const controller = controllerOf(object)?.uid;
    const own = this.#isOwn(controller);
    if (own === false && this.#own.delete(object.metadata.uid)) this.#left(object);
    if (own === undefined && controller !== undefined) {
      this.#wait(controller, change);
    } else if (own) {
      this.#own.add(object.metadata.uid);
      this.#take(change);
    }
  }

  #wait(controller: string, change: Change<Pod>): void {
    const { uid } = change.object.metadata;
    const pods = this.#waiting.get(controller) ?? new Map<string, Change<Pod>[]>();
    const [first] = pods.get(uid) ?? [];
    pods.set(uid, first ? [first, change] : [change]);
    if (change.type === "gone") pods.delete(uid);
    if (pods.size === 0) this.#waiting.delete(controller);
    else this.#waiting.set(controller, pods);
  }

  /** @returns undefined where its ReplicaSet is not known yet. */
  #isOwn(controller: string | undefined): boolean | undefined {
    if (this.#owner === undefined) return true;
    if (controller === undefined) return false;
    return this.#throughSets ? this.#sets.get(controller) : controller === this.#owner;
  }
}

/** Whether the deletion of the pod is held: it is withdrawn from its Services, and perhaps from its owner, until it may be deleted. */
export function isHeld({ metadata: { labels = {}, annotations = {} } }: Pod): boolean {
  return heldMark in labels || heldMark in annotations;
}

import {
  controllerOf,
  type KubernetesClient,
  orUndefined,
  type Pod,
  type PodDisruptionBudget,
  selects,
} from "@lameduck/kube";
import type { ClusterView } from "../cluster-view.ts";
import type { SelectingService } from "@lameduck/cluster";
import { settingsFor } from "@lameduck/inject";
import { budgetsOf, ownerOf, policyKeys } from "./facts.ts";
import { markingPatch, restoringPatch, type Mark } from "./mark.ts";
import { heldMark } from "@lameduck/protocol";
import type { NotHeldReason } from "./not-held.ts";
import { ownerLabel, planRemoval, withoutLabels, type Labels, type Owner, type Plan } from "./plan.ts";
import { usualConvergence } from "./settings.ts";

/** What is known of the cluster without asking. */
export type KnownCluster = Pick<ClusterView, "selecting" | "pathsTo" | "policyOf">;

/** What is known of a pod that is to be held. */
export interface HoldFacts {
  /** "NAMESPACE/SERVICE" of those that select it, or did before its labels were taken. */
  readonly services: readonly string[];
  readonly plan: Plan;
  readonly budgets: readonly PodDisruptionBudget[];
  /** How long the slowest consumer may take, milliseconds. */
  readonly convergence: number;
  /** The ReplicaSet that would make another at once, if it lost this one while it serves on. */
  readonly replaceableBy: string | undefined;
}

/** Reads and changes pods that are held. */
export class HeldPods {
  readonly #client: KubernetesClient;
  readonly #cluster: KnownCluster;
  readonly #ownNamespace: string;
  readonly #policyKeys: ReturnType<typeof policyKeys>;

  constructor(client: KubernetesClient, cluster: KnownCluster, ownNamespace: string) {
    this.#client = client;
    this.#cluster = cluster;
    this.#ownNamespace = ownNamespace;
    this.#policyKeys = policyKeys(client);
  }

  /** undefined where it is gone. */
  get(namespace: string, name: string): Promise<Pod | undefined> {
    return orUndefined(this.#client.get<Pod>(`/api/v1/namespaces/${namespace}/pods/${name}`), 404);
  }

  /** undefined where the Services have not been read yet. */
  async factsFor(pod: Pod, mark: Mark | undefined): Promise<HoldFacts | undefined> {
    const { namespace = "" } = pod.metadata;
    const labels = { ...withoutLabels(pod.metadata.labels ?? {}, [heldMark]), ...mark?.labels };
    const selecting = this.#cluster.selecting(namespace, labels);
    if (!selecting) return undefined;
    const services = selecting.map(({ name }) => `${namespace}/${name}`);
    const convergence = this.#convergence(pod, labels);
    if (mark?.step === "withdrawn" || selecting.length === 0)
      return {
        services,
        convergence,
        plan: { because: "nothing-leads-to-it" },
        budgets: [],
        replaceableBy: undefined,
      };
    const [owner, budgets, keys] = await Promise.all([
      ownerOf(this.#client, pod),
      budgetsOf(this.#client, namespace, labels),
      this.#policyKeys(namespace),
    ]);
    const selectors = budgets.flatMap(({ spec }) => spec.selector ?? []);
    const plan = planRemoval({ labels, services: selecting, owner, budgets: selectors, policyKeys: keys });
    return {
      services,
      plan,
      budgets,
      convergence,
      replaceableBy: replaceableBy(pod, owner, selecting, keys),
    };
  }

  /**
   * The ReplicaSet that has this pod alone, and would make another at once. Labels by which NetworkPolicies select are not asked for: none selects by
   * a hash that changes with each rollout.
   */
  async onlyPodOf(pod: Pod): Promise<{ readonly replicaSet: string } | { readonly because: NotHeldReason }> {
    const { namespace = "", labels = {} } = pod.metadata;
    const selecting = this.#cluster.selecting(namespace, labels);
    if (!selecting) return { because: "blind" };
    // Other owners are not read, and need no right.
    const owner = controllerOf(pod)?.kind === "ReplicaSet" ? await ownerOf(this.#client, pod) : undefined;
    const replicaSet = owner && replaceableBy(pod, owner, selecting, new Set());
    if (!owner || replicaSet === undefined) return { because: "not-replaceable" };
    return "replicas" in owner && (owner.replicas ?? 1) !== 1
      ? { because: "several-replicas" }
      : { replicaSet };
  }

  /** The owner loses the pod, and makes another; the pod serves on. */
  replace(pod: Pod, mark: Omit<Mark, "labels" | "step">): Promise<Pod> {
    return this.#patch(pod, markingPatch(pod.metadata, [ownerLabel], { ...mark, step: "replacing" }));
  }

  /** No Service selects the pod from now on. */
  withdraw(
    pod: Pod,
    remove: readonly string[],
    mark: Omit<Mark, "labels" | "step">,
    before?: Mark,
  ): Promise<Pod> {
    return this.#patch(
      pod,
      markingPatch(pod.metadata, remove, { ...mark, step: "withdrawn" }, before?.labels),
    );
  }

  restore(pod: Pod): Promise<boolean> {
    return restore(this.#client, pod);
  }

  #patch(pod: Pod, patch: object): Promise<Pod> {
    return this.#client.patch<Pod>(pathOf(pod), patch, "merge-patch");
  }

  #convergence({ metadata: { namespace = "", annotations } }: Pod, labels: Labels): number {
    const { settings } = settingsFor({
      podAnnotations: annotations,
      namespacePolicy: this.#cluster.policyOf(namespace),
      clusterPolicy: this.#cluster.policyOf(this.#ownNamespace),
    });
    const seconds =
      settings.convergenceSeconds ?? this.#cluster.pathsTo(namespace, labels)?.convergence?.value;
    return seconds === undefined ? usualConvergence : seconds * 1_000;
  }
}

function pathOf({ metadata: { namespace = "", name } }: Pod): string {
  return `/api/v1/namespaces/${namespace}/pods/${name}`;
}

/** Where the deletion has not happened, the pod is as it was before. @returns whether anything was to be done. */
export async function restore(client: KubernetesClient, pod: Pod, signal?: AbortSignal): Promise<boolean> {
  const { labels = {}, annotations = {}, deletionTimestamp } = pod.metadata;
  if (deletionTimestamp !== undefined || !(heldMark in labels || heldMark in annotations)) return false;
  const patched = client.patch(pathOf(pod), restoringPatch(pod), "merge-patch", signal);
  // 404, 409: it is gone, or another has its name.
  return (await orUndefined(patched, 404, 409)) !== undefined;
}

/** The budgets that would not know the pod without these labels. */
export function budgetsLosing(
  budgets: readonly PodDisruptionBudget[],
  labels: Labels,
  remove: readonly string[],
): readonly PodDisruptionBudget[] {
  return budgets.filter(
    ({ spec }) => spec.selector && !selects(spec.selector, withoutLabels(labels, remove)),
  );
}

function replaceableBy(
  { metadata: { labels = {}, ownerReferences = [] } }: Pod,
  owner: Owner,
  services: readonly SelectingService[],
  policyKeys: ReadonlySet<string>,
): string | undefined {
  if (owner.kind !== "ReplicaSet" || labels[ownerLabel] === undefined || policyKeys.has(ownerLabel))
    return undefined;
  const isServices = services.some(({ selector }) => selector.some(([key]) => key === ownerLabel));
  const isOwners = !selects(owner.selector, withoutLabels(labels, [ownerLabel]));
  return isOwners && !isServices ? ownerReferences.find(({ controller }) => controller)?.name : undefined;
}

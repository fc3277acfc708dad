import type { TerminatingPod } from "@lameduck/coordinator";
import {
  controllerOf,
  hasStatus,
  selects,
  ServerClock,
  type Event,
  type KubernetesClient,
  type Node,
  type Pod,
  type PodDisruptionBudget,
  type Workload,
} from "@lameduck/kube";
import { coordinatorVariable } from "@lameduck/protocol";
import { containersOf } from "../cluster/reading.ts";
import type { PhaseLine } from "@lameduck/accounting/recording";
import { phasesIn } from "@lameduck/rollout";
import { pathOf, readPod, runningContainers, type PodName } from "../end/pod.ts";
import { namespaceOfCoordinator, readReplicas, readTerminating } from "../status/coordinator.ts";

export interface Budget extends PodDisruptionBudget {
  readonly status?: {
    readonly disruptionsAllowed?: number;
    readonly currentHealthy?: number;
    readonly desiredHealthy?: number;
  };
}

/** What is known of a pod. What may not be read is "unread", and is named in `notRead`. */
export interface Known {
  readonly pod: Pod;
  /** By the API server's clock, in milliseconds since 1970. */
  readonly now: number;
  /** "gone" where the API server has no such node. */
  readonly node: Node | "gone" | undefined;
  /** Of this pod, the newest last. */
  readonly events: readonly Event[];
  /** Those that select the pod. */
  readonly budgets: readonly Budget[];
  /** The Deployment or StatefulSet, where the pod is of one, and whether the pod is of its newest template. */
  readonly workload:
    | { readonly kind: string; readonly object: Workload; readonly isNewest: boolean }
    | undefined;
  /** What a coordinator says of its termination. */
  readonly coordinator: TerminatingPod | undefined;
  /** The last that Lameduck has said in the log of each running container. */
  readonly phases: readonly { readonly container: string; readonly phase: PhaseLine }[];
  readonly notRead: readonly string[];
}

/** Reads what the account may read, and remembers what it may not. */
class Reading {
  readonly notRead: string[] = [];
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Undefined for what is not there or may not be read. */
  async of<T>(what: string, answer: Promise<T>): Promise<T | "gone" | undefined> {
    try {
      return await answer;
    } catch (error) {
      this.#signal.throwIfAborted();
      if (hasStatus(error, 404)) return "gone";
      this.notRead.push(
        hasStatus(error, 403) ? `${what}: not permitted` : `${what}: ${(error as Error).message}`,
      );
      return undefined;
    }
  }

  async list<T>(what: string, answer: Promise<readonly T[]>): Promise<readonly T[]> {
    const found = await this.of(what, answer);
    return found === undefined || found === "gone" ? [] : found;
  }
}

/** @throws {KubernetesError} where the pod is not there or may not be read */
export async function readKnown(
  client: KubernetesClient,
  name: PodName,
  signal: AbortSignal,
): Promise<Known> {
  const clock = ServerClock.of(client);
  const pod = await readPod(client, name, signal);
  const reading = new Reading(signal);
  const { namespace } = name;
  const query = new URLSearchParams({ fieldSelector: `involvedObject.uid=${pod.metadata.uid}` });
  const { nodeName } = pod.spec;
  const isTerminating = pod.metadata.deletionTimestamp !== undefined;
  const [node, events, budgets, workload, coordinator, phases] = await Promise.all([
    nodeName === undefined
      ? undefined
      : reading.of(`node ${nodeName}`, client.get<Node>(`/api/v1/nodes/${nodeName}`, signal)),
    reading.list(
      "events",
      client.list<Event>(`/api/v1/namespaces/${namespace}/events?${query.toString()}`, signal),
    ),
    isTerminating
      ? []
      : reading.list(
          "PodDisruptionBudgets",
          client.list<Budget>(`/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`, signal),
        ),
    isTerminating ? undefined : workloadOf(client, reading, pod, signal),
    isTerminating ? toldByCoordinator(client, reading, pod, signal) : undefined,
    isTerminating ? phasesOf(client, reading, name, pod, signal) : [],
  ]);
  const labels = pod.metadata.labels ?? {};
  return {
    pod,
    now: clock.now(),
    node,
    events: events.toSorted((a, b) => timeOf(a) - timeOf(b)),
    budgets: budgets.filter(({ spec }) => spec.selector !== undefined && selects(spec.selector, labels)),
    workload,
    coordinator,
    phases,
    notRead: reading.notRead,
  };
}

export function timeOf({ lastTimestamp, eventTime }: Event): number {
  return Date.parse(lastTimestamp ?? eventTime ?? "") || 0;
}

/** A pod of an older template stays until the rollout of its workload comes to it. */
async function workloadOf(
  client: KubernetesClient,
  reading: Reading,
  pod: Pod,
  signal: AbortSignal,
): Promise<Known["workload"]> {
  const owner = controllerOf(pod);
  const path = `/apis/apps/v1/namespaces/${pod.metadata.namespace ?? ""}`;
  const { labels = {} } = pod.metadata;
  if (owner?.kind === "StatefulSet") {
    const object = await reading.of(
      owner.name,
      client.get<Workload>(`${path}/statefulsets/${owner.name}`, signal),
    );
    if (object === undefined || object === "gone") return undefined;
    const { updateRevision = labels["controller-revision-hash"] } = object.status ?? {};
    const isNewest = labels["controller-revision-hash"] === updateRevision;
    return { kind: "statefulset", object, isNewest };
  }
  const hash = labels["pod-template-hash"] ?? "";
  if (owner?.kind !== "ReplicaSet" || !owner.name.endsWith(`-${hash}`)) return undefined;
  const name = owner.name.slice(0, -hash.length - 1);
  const [object, sets] = await Promise.all([
    reading.of(`deployment ${name}`, client.get<Workload>(`${path}/deployments/${name}`, signal)),
    reading.list("ReplicaSets", client.list<Workload>(`${path}/replicasets`, signal)),
  ]);
  if (object === undefined || object === "gone") return undefined;
  const revisionOf = ({ metadata }: Workload): number =>
    Number(metadata.annotations?.["deployment.kubernetes.io/revision"] ?? 0);
  const newest = sets
    .filter((set) => controllerOf(set)?.uid === object.metadata.uid)
    .toSorted((a, b) => revisionOf(a) - revisionOf(b))
    .at(-1);
  return { kind: "deployment", object, isNewest: newest === undefined || newest.metadata.uid === owner.uid };
}

async function toldByCoordinator(
  client: KubernetesClient,
  reading: Reading,
  pod: Pod,
  signal: AbortSignal,
): Promise<TerminatingPod | undefined> {
  const address = containersOf(pod)
    .flatMap(({ env = [] }) => env.find(({ name }) => name === coordinatorVariable)?.value ?? [])
    .at(0);
  const namespace = namespaceOfCoordinator(address);
  if (namespace === undefined) return undefined;
  const what = "the coordinator";
  const replicas = await reading.list(what, readReplicas(client, namespace, signal));
  if (replicas.length > 0 && replicas.every(({ status }) => status === undefined))
    reading.notRead.push(`${what}: ${replicas[0]?.problem ?? "no answer"}`);
  const found = await reading.of(what, readTerminating(client, namespace, replicas, signal));
  return found === undefined || found === "gone"
    ? undefined
    : found.pods.find(({ uid }) => uid === pod.metadata.uid);
}

/** Lines enough to hold the last word of Lameduck in the log of a server under load. */
const tailLines = 2_000;

async function phasesOf(
  client: KubernetesClient,
  reading: Reading,
  name: PodName,
  pod: Pod,
  signal: AbortSignal,
): Promise<Known["phases"]> {
  const found = await Promise.all(
    runningContainers(pod).map(async ({ name: container }) => {
      const query = new URLSearchParams({ container, tailLines: `${tailLines}`, timestamps: "true" });
      const log = client.stream(`${pathOf(name)}/log?${query.toString()}`, signal);
      const response = await reading.of(`the log of ${container}`, log);
      if (response === undefined || response === "gone") return [];
      let last: PhaseLine | undefined;
      for await (const phase of phasesIn(response)) last = phase;
      return last ? [{ container, phase: last }] : [];
    }),
  );
  return found.flat();
}

import { ApiFailure, type KubernetesClient } from "../client/client.ts";
import {
  selects,
  selectorText,
  type KubernetesObject,
  type LabelSelector,
  type Pod,
  type PodSpec,
  type Service,
  type Workload,
} from "../client/objects.ts";
import { KubernetesError } from "../errors.ts";
import { nameOf, pathOf, resourceOf, type TargetKind, type TargetReference } from "./reference.ts";

/** What is rolled, as the API server has it. */
export interface Target {
  readonly reference: TargetReference;
  /** What makes new pods; undefined for a pod that nobody replaces. */
  readonly owner: { readonly reference: TargetReference; readonly object: Workload } | undefined;
  /** Query that finds its pods, those to come included. */
  readonly podQuery: Readonly<Record<string, string>>;
  readonly podSpec: PodSpec;
  readonly podLabels: Readonly<Record<string, string>>;
  /** Replicas wanted when it was looked at. */
  readonly replicas: number;
  /** Names of the Services that select its pods. */
  readonly services: readonly string[];
}

/** @throws {KubernetesError} LAMEDUCK_NO_SUCH_TARGET, LAMEDUCK_API_FORBIDDEN and others of the client. */
export async function findTarget(client: KubernetesClient, reference: TargetReference): Promise<Target> {
  const found =
    reference.kind === "pod" ? await findPod(client, reference) : await findWorkload(client, reference);
  return { ...found, services: await servicesOf(client, reference.namespace, found.podLabels) };
}

type Found = Omit<Target, "services">;

async function findWorkload(client: KubernetesClient, reference: TargetReference): Promise<Found> {
  const object = await getObject<Workload>(client, reference);
  const { spec, status } = object;
  return {
    reference,
    owner: { reference, object },
    podQuery: { labelSelector: selectorText(spec.selector) },
    podSpec: spec.template.spec,
    podLabels: spec.template.metadata?.labels ?? {},
    replicas: reference.kind === "daemonset" ? (status?.desiredNumberScheduled ?? 0) : (spec.replicas ?? 1),
  };
}

async function findPod(client: KubernetesClient, reference: TargetReference): Promise<Found> {
  const pod = await getObject<Pod>(client, reference);
  const owner = await ownerOf(client, pod, reference.namespace);
  const common = { reference, podSpec: pod.spec, podLabels: pod.metadata.labels ?? {} };
  if (!owner)
    return {
      ...common,
      owner: undefined,
      podQuery: { fieldSelector: `metadata.name=${reference.name}` },
      replicas: 1,
    };
  const { spec, status } = owner.object;
  return {
    ...common,
    owner,
    podQuery: { labelSelector: selectorText(spec.selector) },
    replicas:
      owner.reference.kind === "daemonset" ? (status?.desiredNumberScheduled ?? 0) : (spec.replicas ?? 1),
  };
}

interface Owner {
  readonly reference: TargetReference;
  readonly object: Workload;
}

/** A ReplicaSet's name is the Deployment's and a hash; what it stands for is read from the ReplicaSet, where that is allowed. */
async function ownerOf(client: KubernetesClient, pod: Pod, namespace: string): Promise<Owner | undefined> {
  const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller);
  if (!owner) return undefined;
  let kind = workloadKinds[owner.kind];
  let name = owner.name;
  if (owner.kind === "ReplicaSet") {
    const hash = pod.metadata.labels?.["pod-template-hash"];
    if (hash === undefined || !name.endsWith(`-${hash}`)) return undefined;
    kind = "deployment";
    name = name.slice(0, -hash.length - 1);
  }
  if (kind === undefined) return undefined;
  const reference: TargetReference = { kind, name, namespace };
  try {
    return { reference, object: await getObject<Workload>(client, reference) };
  } catch (error) {
    // Whoever may read pods only can still see this one end.
    if (error instanceof ApiFailure && error.status === 403) return undefined;
    throw error;
  }
}

const workloadKinds: Readonly<Record<string, TargetKind>> = {
  StatefulSet: "statefulset",
  DaemonSet: "daemonset",
};

async function getObject<T extends KubernetesObject>(
  client: KubernetesClient,
  reference: TargetReference,
): Promise<T> {
  const { kind, name, namespace } = reference;
  try {
    return await client.get<T>(pathOf(resourceOf(kind), namespace, name));
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.status !== 404) throw error;
    throw new KubernetesError(
      "LAMEDUCK_NO_SUCH_TARGET",
      nameOf(reference),
      `there is none in namespace "${namespace}" of context "${client.connection.context}"${await others(client, reference)}`,
    );
  }
}

/** Names that were perhaps meant; nothing where they may not be read. */
async function others(client: KubernetesClient, { kind, namespace }: TargetReference): Promise<string> {
  try {
    const { items } = await client.get<{ items: KubernetesObject[] }>(
      `${pathOf(resourceOf(kind), namespace)}?limit=6`,
    );
    if (items.length === 0) return `; the namespace has no ${kind} at all`;
    const names = items.slice(0, 5).map(({ metadata }) => metadata.name);
    return `; there is ${names.join(", ")}${items.length > 5 ? " and more" : ""}`;
  } catch {
    return "";
  }
}

async function servicesOf(
  client: KubernetesClient,
  namespace: string,
  labels: Readonly<Record<string, string>>,
): Promise<string[]> {
  try {
    const { items } = await client.get<{ items: Service[] }>(
      pathOf({ group: "", resource: "services" }, namespace),
    );
    return items
      .filter(({ spec }) => {
        const selector: LabelSelector = { matchLabels: spec.selector ?? {} };
        return spec.selector !== undefined && selects(selector, labels);
      })
      .map(({ metadata }) => metadata.name);
  } catch (error) {
    // Without this right the rest still works; the preflight says what is not known then.
    if (error instanceof ApiFailure && error.status === 403) return [];
    throw error;
  }
}

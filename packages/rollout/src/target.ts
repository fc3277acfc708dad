import {
  type KubernetesClient,
  controllerOf,
  hasStatus,
  isObject,
  orUndefined,
  serviceSelectsPodsOf,
  selectorText,
  type KubernetesObject,
  type OwnerReference,
  type Pod,
  type PodSpec,
  type Service,
  type Workload,
  KubernetesError,
} from "@lameduck/kube";
import {
  hasReplicaSets,
  nameOf,
  pathOf,
  replicaSets,
  resources,
  targetKinds,
  type TargetReference,
} from "./target-reference.ts";

interface Owner {
  readonly reference: TargetReference;
  readonly object: Workload;
}

/** What is rolled, as the API server has it. */
export interface Target {
  readonly reference: TargetReference;
  /** The controller that makes new pods; undefined for a pod that is not replaced. */
  readonly owner: Owner | undefined;
  /** For a pod without `owner`: a controller that may replace it nevertheless, and is not followed. */
  readonly controller?: Pick<OwnerReference, "kind" | "name">;
  /** The query that finds the target's present and future pods. It also finds pods of others with the same labels: see OwnedPods. */
  readonly podQuery: Readonly<Record<string, string>>;
  readonly podSpec: PodSpec;
  readonly podLabels: Readonly<Record<string, string>>;
  /** The number of replicas wanted, when the target was read. */
  readonly replicas: number;
  /** Names of the Services that select its pods. */
  readonly services: readonly string[];
}

interface MayFollow {
  readonly replicaSets: boolean;
}

/** @throws {KubernetesError} LAMEDUCK_NO_SUCH_TARGET, LAMEDUCK_API_FORBIDDEN and others of the client. */
export async function findTarget(
  client: KubernetesClient,
  reference: TargetReference,
  allowed: MayFollow = { replicaSets: true },
): Promise<Target> {
  const found =
    reference.kind === "pod"
      ? await findPod(client, reference, allowed)
      : await findWorkload(client, reference);
  return { ...found, services: await servicesOf(client, reference, found.podLabels) };
}

type Found = Omit<Target, "services">;

async function findWorkload(client: KubernetesClient, reference: TargetReference): Promise<Found> {
  const object = await getWorkload(client, reference);
  const { template } = object.spec;
  return {
    reference,
    ...ofOwner({ reference, object }),
    podSpec: template.spec,
    podLabels: template.metadata?.labels ?? {},
  };
}

async function findPod(
  client: KubernetesClient,
  reference: TargetReference,
  allowed: MayFollow,
): Promise<Found> {
  const pod = await getObject<Pod>(client, reference);
  mustBeWhole(reference, isObject(pod) && hasContainers(pod.spec));
  const found = await ownerOf(client, pod, reference.namespace);
  const isFollowed = found && (allowed.replicaSets || !hasReplicaSets(found.reference.kind));
  const owner = isFollowed ? found : undefined;
  const controller = controllerOf(pod);
  return {
    reference,
    podSpec: pod.spec,
    podLabels: pod.metadata.labels ?? {},
    ...(owner
      ? ofOwner(owner)
      : {
          owner,
          ...(controller ? { controller } : {}),
          podQuery: { fieldSelector: `metadata.name=${reference.name}` },
          replicas: 1,
        }),
  };
}

function ofOwner(owner: Owner): Pick<Target, "owner" | "podQuery" | "replicas"> {
  const { spec, status } = owner.object;
  return {
    owner,
    podQuery: { labelSelector: selectorText(spec.selector) },
    replicas:
      owner.reference.kind === "daemonset" ? (status?.desiredNumberScheduled ?? 0) : (spec.replicas ?? 1),
  };
}

/**
 * The controller that makes new pods in place of this one. A ReplicaSet stands for the controller that made it. Each is known by its UID,
 * as another controller may have its name by now.
 */
async function ownerOf(client: KubernetesClient, pod: Pod, namespace: string): Promise<Owner | undefined> {
  try {
    let made = controllerOf(pod);
    if (made?.kind === "ReplicaSet") {
      const set = await client.get<KubernetesObject>(pathOf(replicaSets, namespace, made.name));
      made = set.metadata.uid === made.uid ? controllerOf(set) : undefined;
    }
    const kind = workloadKinds.find((one) => one === made?.kind.toLowerCase());
    if (!made || !kind) return undefined;
    const reference: TargetReference = { kind, name: made.name, namespace };
    const object = await getWorkload(client, reference);
    return object.metadata.uid === made.uid ? { reference, object } : undefined;
  } catch (error) {
    // Its owner may be gone. A user who may read pods only still sees the end of this pod.
    if (hasStatus(error, 403, 404)) return undefined;
    if (error instanceof KubernetesError && error.code === "LAMEDUCK_NO_SUCH_TARGET") return undefined;
    throw error;
  }
}

const workloadKinds = targetKinds.filter((kind) => kind !== "pod");

async function getWorkload(client: KubernetesClient, reference: TargetReference): Promise<Workload> {
  const object = await getObject<Workload>(client, reference);
  const { template, selector, workloadRef } = (object as Partial<Workload>).spec ?? {};
  const described = workloadRef !== undefined || (hasContainers(template?.spec) && selector !== undefined);
  mustBeWhole(reference, isObject(object) && described);
  if (object.spec.workloadRef !== undefined)
    throw new KubernetesError(
      "LAMEDUCK_CANNOT_ROLL",
      nameOf(reference),
      "its pods are described elsewhere (workloadRef), which is not followed",
    );
  return object;
}

/** The server that answered may not be an API server. */
function mustBeWhole(reference: TargetReference, isWhole: boolean): void {
  if (!isWhole)
    throw new KubernetesError(
      "LAMEDUCK_API_REFUSED",
      nameOf(reference),
      "the answer is no description of it: is this an API server?",
    );
}

function hasContainers(spec: Partial<PodSpec> | undefined): boolean {
  return Array.isArray(spec?.containers);
}

async function getObject<T extends KubernetesObject>(
  client: KubernetesClient,
  reference: TargetReference,
): Promise<T> {
  const { kind, name, namespace } = reference;
  try {
    return await client.get<T>(pathOf(resources[kind], namespace, name));
  } catch (error) {
    if (!hasStatus(error, 404)) throw error;
    throw new KubernetesError(
      "LAMEDUCK_NO_SUCH_TARGET",
      nameOf(reference),
      `there is none in namespace "${namespace}" of context "${client.connection.context}"${await others(client, reference)}`,
    );
  }
}

/** The existing names that were perhaps meant; none where they may not be read. */
async function others(client: KubernetesClient, { kind, namespace }: TargetReference): Promise<string> {
  try {
    const items = await client.list(`${pathOf(resources[kind], namespace)}?limit=6`);
    if (items.length === 0) return `; the namespace has no ${kind} at all`;
    const names = items.slice(0, 5).map(({ metadata }) => metadata.name);
    return `; there is ${names.join(", ")}${items.length > 5 ? " and more" : ""}`;
  } catch (error) {
    return hasStatus(error, 404) ? `; the cluster knows no ${resources[kind].resource} at all` : "";
  }
}

async function servicesOf(
  client: KubernetesClient,
  { kind, namespace }: TargetReference,
  labels: Readonly<Record<string, string>>,
): Promise<string[]> {
  const path = pathOf({ group: "", resource: "services" }, namespace);
  // Without this right the rest still works. The preflight says what is unknown then.
  const services = await orUndefined(client.list<Service>(path), 403);
  return (services ?? [])
    .filter(({ spec }) => serviceSelectsPodsOf(kind, spec.selector, labels))
    .map(({ metadata }) => metadata.name);
}

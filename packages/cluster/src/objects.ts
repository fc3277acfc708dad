import {
  controllerOf,
  isReady,
  type KubernetesObject,
  type ObjectMeta,
  type Pod,
  workloadNameOf,
} from "@lameduck/kube";
import {
  apiVersion,
  initVolumePath,
  initFile,
  registerFile,
  coordinatorVariable,
  formerSleepIn,
  injectedAnnotation,
  endAnnotation,
  endAnnotationValue,
  canonicalAddress,
} from "@lameduck/protocol";
import { type PodSender, proxyOf, type SeenPod, type SeenProxy, sendersOfPod } from "@lameduck/senders";

/** How a container ended. */
export interface ContainerExit {
  readonly container: string;
  readonly exitCode: number;
  readonly signal?: number;
  readonly reason?: string;
  readonly finishedAt?: number;
}

/** What injection has put into a pod. */
export interface Injected {
  readonly version: string;
  readonly what: "the library" | "a preStop hook" | "the kubelet's sleep" | "nothing that holds";
  /** It knows a coordinator to report to. */
  readonly isTold: boolean;
  /** Of the sleep in whose place the hook came. Milliseconds. */
  readonly formerSleepMs?: number;
}

export interface WorkloadName {
  readonly kind: string;
  readonly name: string;
}

/** The part of a pod that is kept, because a cluster has tens of thousands. */
export interface SlimPod extends KubernetesObject {
  readonly node: string | undefined;
  readonly addresses: readonly string[];
  /** The node's address, for pods in the node's network, which share it. */
  readonly hostAddress: string | undefined;
  /** A host port leads to it without a Service, as long as the pod exists. */
  readonly hasHostPort: boolean;
  readonly workload: WorkloadName | undefined;
  /** Milliseconds since 1970; undefined while it is not being deleted. */
  readonly deletedAt: number | undefined;
  readonly graceSeconds: number;
  readonly exits: readonly ContainerExit[];
  /** All containers have ended, so that another pod may soon have its addresses. */
  readonly isFinished: boolean;
  /** Of a pod that is being deleted: what its object waits for. */
  readonly finalizers: readonly string[];
  /** What injection has put into it; undefined where it was not injected. */
  readonly injected?: Injected;
  /** Somebody asks for the end of its hold. */
  readonly isToEnd?: true;
  /** Senders that it shows, as by the sidecar of a mesh; undefined where it shows none, as most do. */
  readonly senders?: readonly PodSender[];
  /** Of a proxy that a watcher can read, and of each pod with a watcher. */
  readonly proxy?: SeenProxy;
}

export interface SlimEndpoint {
  /** Its uid. Its address where the slice names no pod, as in one that is kept by hand. */
  readonly pod: string;
  readonly isReady: boolean;
  readonly isTerminating: boolean;
  /** It passes its readiness probe, whether it terminates or not; undefined where it does, or where that is not known. */
  readonly isServing?: boolean;
  readonly node?: string;
  /** Hints: only the proxies of these zones and nodes choose it, as "zone/ZONE" and "node/NODE". */
  readonly reservedFor?: readonly string[];
}

export interface SlimSlice extends KubernetesObject {
  /** "NAMESPACE/NAME" */
  readonly service: string;
  readonly addressType?: string;
  readonly endpoints: readonly SlimEndpoint[];
}

export interface SlimNode extends KubernetesObject {
  readonly isReady: boolean;
  readonly addresses: readonly string[];
  /** Of its pods, and of its own end of their network: "10.244.1.0/24". */
  readonly ranges?: readonly string[];
}

interface PodObject extends Omit<Pod, "spec" | "status"> {
  readonly spec?: Pod["spec"] & { readonly hostNetwork?: boolean };
  readonly status?: NonNullable<Pod["status"]> & { readonly hostIP?: string };
}

/** Only people read them. Whoever may change a pod may add finalizers without end. */
const mostFinalizers = 16;
/** Those of the longest prefix and name: the API server takes no longer ones. */
const longestFinalizer = 317;

const none: readonly never[] = [];

export function slimPod(pod: PodObject): SlimPod {
  const { metadata, spec, status } = pod;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  const graceSeconds = deletionGracePeriodSeconds ?? spec?.terminationGracePeriodSeconds ?? 30;
  const ends = deletionTimestamp === undefined ? NaN : Date.parse(deletionTimestamp);
  const addresses = status?.podIPs?.map(({ ip }) => ip) ?? (status?.podIP ? [status.podIP] : none);
  const exits = exitsOf(pod);
  const count = spec?.containers.length ?? 0;
  // Sidecars of this kind outlive the containers, and serve with the pod's address until they end.
  const sidecarRuns = status?.initContainerStatuses?.some(({ state }) => state?.running !== undefined);
  const isFinished =
    status?.phase === "Succeeded" ||
    status?.phase === "Failed" ||
    (deletionTimestamp !== undefined && count > 0 && exits.length >= count && sidecarRuns !== true);
  const seen = seenPod(pod);
  const senders = isFinished ? none : sendersOfPod(seen);
  const proxy = proxyOf(seen);
  return {
    metadata: identityOf(metadata),
    node: spec?.nodeName,
    addresses,
    hostAddress: spec?.hostNetwork === true ? (status?.hostIP ?? "") : undefined,
    hasHostPort: hasHostPort(spec),
    workload: workloadOf(pod),
    // The timestamp is the end of the grace period.
    deletedAt: Number.isNaN(ends) ? undefined : ends - (deletionGracePeriodSeconds ?? 0) * 1_000,
    graceSeconds,
    exits,
    ...injectedIn(pod),
    ...(metadata.annotations?.[endAnnotation] === endAnnotationValue ? { isToEnd: true } : {}),
    finalizers: deletionTimestamp === undefined ? none : finalizersOf(metadata),
    isFinished,
    ...(senders.length === 0 ? {} : { senders }),
    ...(proxy === undefined ? {} : { proxy }),
  };
}

/** As the facts of senders look at it; a sidecar may be an init container. */
export function seenPod({ metadata, spec }: PodObject): SeenPod {
  const { namespace = "", labels = {}, annotations = {} } = metadata;
  return {
    namespace,
    labels,
    annotations,
    containers: [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])],
  };
}

/** By what injection writes: the annotation, its hooks, and the variables by which a pod knows a coordinator. */
function injectedIn({ metadata, spec }: PodObject): { readonly injected?: Injected } {
  const version = metadata.annotations?.[injectedAnnotation];
  if (version === undefined) return {};
  const containers = spec?.containers ?? [];
  const hooks = JSON.stringify(containers.map(({ lifecycle }) => lifecycle?.preStop));
  const variables = containers.flatMap(({ env = [] }) => env);
  const isLibrary = variables.some(
    ({ name, value = "" }) => name === "NODE_OPTIONS" && value.includes(registerFile),
  );
  const what = isLibrary
    ? "the library"
    : hooks.includes(`${initVolumePath}/${initFile}`)
      ? "a preStop hook"
      : hooks.includes('"sleep":')
        ? "the kubelet's sleep"
        : "nothing that holds";
  const isTold = variables.some(({ name, value }) => name === coordinatorVariable && value !== "");
  const sleep = formerSleepIn(metadata.annotations);
  return {
    injected: { version, what, isTold, ...(sleep === undefined ? {} : { formerSleepMs: sleep * 1_000 }) },
  };
}

function hasHostPort({ containers = [], initContainers = [] }: Partial<PodObject["spec"]> = {}): boolean {
  // A sidecar of this kind serves as long as the containers do. Other init containers end before them.
  const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === "Always");
  const ports = [...containers, ...sidecars].flatMap(({ ports: all = [] }) => all);
  return ports.some(({ hostPort = 0 }) => hostPort > 0);
}

function finalizersOf({ finalizers = none }: ObjectMeta): readonly string[] {
  return finalizers.filter(({ length }) => length <= longestFinalizer).slice(0, mostFinalizers);
}

function exitsOf({ status }: PodObject): readonly ContainerExit[] {
  const exits = status?.containerStatuses?.flatMap(({ name, state }): readonly ContainerExit[] => {
    const ended = state?.terminated;
    if (!ended) return none;
    const finishedAt = Date.parse(ended.finishedAt ?? "");
    return [
      {
        container: name,
        exitCode: ended.exitCode,
        ...(ended.signal === undefined ? {} : { signal: ended.signal }),
        ...(ended.reason === undefined ? {} : { reason: ended.reason }),
        ...(Number.isNaN(finishedAt) ? {} : { finishedAt }),
      },
    ];
  });
  return exits && exits.length > 0 ? exits : none;
}

/** The API server checks neither kind nor name of an owner, and both become part of paths and names. */
const ownerKind = /^[A-Za-z][A-Za-z0-9]{0,62}$/;
const ownerName = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;

/** The Deployment's name is its ReplicaSet's without the hash that the pod has as a label. */
export function workloadOf(pod: KubernetesObject): WorkloadName | undefined {
  const owner = controllerOf(pod);
  if (!owner || !ownerKind.test(owner.kind) || !ownerName.test(owner.name)) return undefined;
  return workloadNameOf(pod);
}

interface SliceObject extends KubernetesObject {
  readonly addressType?: string;
  readonly endpoints?:
    | readonly {
        readonly addresses?: readonly string[];
        readonly nodeName?: string;
        readonly conditions?: {
          readonly ready?: boolean;
          readonly serving?: boolean;
          readonly terminating?: boolean;
        };
        readonly targetRef?: { readonly kind?: string; readonly uid?: string };
        readonly hints?: {
          readonly forZones?: readonly { readonly name: string }[];
          readonly forNodes?: readonly { readonly name: string }[];
        };
      }[]
    | null;
}

export function slimSlice({ metadata, addressType = "", endpoints }: SliceObject): SlimSlice {
  return {
    metadata: {
      ...identityOf(metadata),
      ...(metadata.generation === undefined ? {} : { generation: metadata.generation }),
    },
    service: `${metadata.namespace}/${metadata.labels?.["kubernetes.io/service-name"] ?? ""}`,
    addressType,
    endpoints: (endpoints ?? []).flatMap(({ addresses = [], nodeName, targetRef, conditions, hints }) => {
      const isNamed = targetRef?.kind === "Pod" && targetRef.uid !== undefined;
      const pods = isNamed ? [targetRef.uid ?? ""] : addresses.map((one) => canonicalAddress(one) ?? one);
      // Without the condition an endpoint is ready: consumers read it so.
      const isReady = conditions?.ready !== false;
      const isTerminating = conditions?.terminating === true;
      const serving = conditions?.serving === false ? { isServing: false } : {};
      const on = nodeName === undefined ? {} : { node: nodeName };
      const { forZones = [], forNodes = [] } = hints ?? {};
      const places = [
        ...forZones.map(({ name }) => `zone/${name}`),
        ...forNodes.map(({ name }) => `node/${name}`),
      ];
      const reserved = places.length === 0 ? {} : { reservedFor: places };
      return pods.map((pod) => ({ pod, isReady, isTerminating, ...serving, ...on, ...reserved }));
    }),
  };
}

/** Bytes that an endpoint takes here, beside the characters of its uid. */
const perEndpoint = 300;
/** And a place that it is reserved for, which is counted, too. */
const perPlace = 100;

/** Bytes, as far as they can be told without looking into the heap. */
export function sizeOfSlice({ endpoints }: SlimSlice): number {
  return endpoints.reduce(
    (size, { pod, reservedFor = [] }) =>
      size +
      perEndpoint +
      pod.length +
      2 * reservedFor.reduce((sum, { length }) => sum + perPlace + length, 0),
    perEndpoint,
  );
}

interface NodeObject extends KubernetesObject {
  readonly spec?: { readonly podCIDRs?: readonly string[] };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly addresses?: readonly { readonly type?: string; readonly address: string }[];
  };
}

export function slimNode({ metadata, spec, status }: NodeObject): SlimNode {
  return {
    metadata: identityOf(metadata),
    ...(spec?.podCIDRs === undefined ? {} : { ranges: spec.podCIDRs }),
    isReady: isReady({ status }),
    addresses: (status?.addresses ?? []).flatMap(({ type, address }) =>
      type === "InternalIP" || type === "ExternalIP" ? [address] : [],
    ),
  };
}

export interface PolicyObject extends KubernetesObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly spec?: unknown;
  readonly status?: unknown;
}

export function slimPolicy({ metadata, spec, status }: PolicyObject): PolicyObject {
  return {
    apiVersion,
    kind: "DrainPolicy",
    metadata: {
      ...identityOf(metadata),
      ...(metadata.generation === undefined ? {} : { generation: metadata.generation }),
    },
    // The API server keeps no more of it than the schema has.
    spec,
    status: { conditions: ownConditions(status) },
  };
}

/** Whoever may write the status may add conditions without end. */
function ownConditions(status: unknown): readonly unknown[] {
  const { conditions } = (status ?? {}) as { readonly conditions?: unknown };
  const all: readonly unknown[] = Array.isArray(conditions) ? conditions : [];
  const typeOf = (one: unknown): unknown => (one as { readonly type?: unknown } | null)?.type;
  return ["Accepted", "LosesRequests"].flatMap((type) => all.find((one) => typeOf(one) === type) ?? []);
}

/** Of namespaces and nodes one label counts. */
export function slimToLabel(label: string): (object: KubernetesObject) => KubernetesObject {
  return ({ metadata }) => {
    const { [label]: value } = metadata.labels ?? {};
    return {
      metadata: { ...identityOf(metadata), ...(value === undefined ? {} : { labels: { [label]: value } }) },
    };
  };
}

/** Which object it is, and nothing that somebody wrote into it. */
export function identityOf({ name, namespace, uid, resourceVersion }: ObjectMeta): ObjectMeta {
  return {
    name,
    uid,
    ...(namespace === undefined ? {} : { namespace }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

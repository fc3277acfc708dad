/** The fields of Kubernetes' objects that Lameduck reads. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
}

export interface OwnerReference {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
}

export interface KubernetesObject {
  readonly metadata: ObjectMeta;
}

/** Whether a value has what all objects must have, whatever server answered. */
export function isObject(object: unknown): object is KubernetesObject {
  const { name, uid } = (object as Partial<KubernetesObject> | null)?.metadata ?? {};
  return typeof name === "string" && typeof uid === "string";
}

/** The controller that owns an object; there is at most one. */
export function controllerOf({ metadata }: KubernetesObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller);
}

/** The workload of a pod. A Deployment's name is its ReplicaSet's without the hash that the pod has as a label. */
export function workloadNameOf(pod: KubernetesObject): Pick<OwnerReference, "kind" | "name"> | undefined {
  const owner = controllerOf(pod);
  const hash = pod.metadata.labels?.["pod-template-hash"];
  if (owner?.kind === "ReplicaSet" && hash !== undefined && owner.name.endsWith(`-${hash}`))
    return { kind: "Deployment", name: owner.name.slice(0, -hash.length - 1) };
  return owner && { kind: owner.kind, name: owner.name };
}

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

export interface Handler {
  readonly exec?: { readonly command?: readonly string[] };
  readonly sleep?: { readonly seconds: number };
  readonly httpGet?: { readonly path?: string };
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly restartPolicy?: string;
  readonly ports?: readonly {
    readonly containerPort: number;
    readonly hostPort?: number;
    readonly name?: string;
  }[];
  readonly lifecycle?: { readonly preStop?: Handler };
  readonly readinessProbe?: object;
}

export interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly serviceAccountName?: string;
  readonly volumes?: readonly {
    readonly name: string;
    readonly persistentVolumeClaim?: { readonly claimName: string };
    readonly configMap?: { readonly name?: string };
  }[];
  readonly nodeName?: string;
  readonly terminationGracePeriodSeconds?: number;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly tolerations?: readonly object[];
  readonly imagePullSecrets?: readonly { readonly name?: string }[];
  readonly readinessGates?: readonly { readonly conditionType: string }[];
}

export interface ContainerStatus {
  readonly name: string;
  readonly ready?: boolean;
  readonly containerID?: string;
  readonly restartCount?: number;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}

export interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly running?: { readonly startedAt?: string };
  readonly terminated?: {
    readonly exitCode: number;
    readonly signal?: number;
    readonly reason?: string;
    readonly finishedAt?: string;
  };
}

export interface Pod extends KubernetesObject {
  readonly spec: PodSpec;
  readonly status?: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly podIPs?: readonly { readonly ip: string }[];
    readonly conditions?: readonly Condition[];
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

/** Whether a pod or a node has the condition Ready, and it is true. */
export function isReady({
  status,
}: {
  readonly status?: { readonly conditions?: readonly Pick<Condition, "type" | "status">[] } | undefined;
}): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false;
}

/** Deployment, StatefulSet, DaemonSet or Argo Rollout: the fields that one or another of them has. */
export interface Workload extends KubernetesObject {
  readonly spec: {
    readonly replicas?: number;
    readonly paused?: boolean;
    /** Of an Argo Rollout: its pods are to be younger than this; or its pods are described elsewhere. */
    readonly restartAt?: string;
    readonly workloadRef?: object;
    readonly selector: LabelSelector;
    readonly strategy?: {
      readonly type?: string;
      readonly rollingUpdate?: object;
      /** Both of an Argo Rollout. */
      readonly canary?: { readonly steps?: readonly { readonly pause?: { readonly duration?: unknown } }[] };
      readonly blueGreen?: { readonly autoPromotionSeconds?: number };
    };
    readonly updateStrategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly partition?: number };
    };
    readonly template: { readonly metadata?: Partial<ObjectMeta>; readonly spec: PodSpec };
  };
  readonly status?: {
    /** An Argo Rollout has it as a text. */
    readonly observedGeneration?: number | string;
    /** These of an Argo Rollout: its restart that is over, what it waits for, and the hashes of its templates. */
    readonly restartedAt?: string;
    readonly pauseConditions?: readonly { readonly reason: string; readonly startTime: string }[];
    readonly abort?: boolean;
    readonly abortedAt?: string;
    readonly currentStepIndex?: number;
    readonly currentPodHash?: string;
    readonly stableRS?: string;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly readyReplicas?: number;
    readonly availableReplicas?: number;
    readonly currentRevision?: string;
    readonly updateRevision?: string;
    readonly desiredNumberScheduled?: number;
    readonly updatedNumberScheduled?: number;
    readonly numberAvailable?: number;
    readonly conditions?: readonly Condition[];
  };
}

export interface Service extends KubernetesObject {
  readonly spec: {
    readonly selector?: Readonly<Record<string, string>>;
  };
}

export interface EndpointSlice extends KubernetesObject {
  readonly endpoints?:
    | readonly {
        readonly addresses: readonly string[];
        readonly conditions?: {
          readonly ready?: boolean;
          readonly serving?: boolean;
          readonly terminating?: boolean;
        };
        readonly targetRef?: { readonly kind?: string; readonly name?: string };
      }[]
    | null;
  readonly ports?: readonly { readonly port?: number }[] | null;
}

export interface Event extends KubernetesObject {
  readonly involvedObject: {
    readonly uid?: string;
    /** "spec.containers{app}" */
    readonly fieldPath?: string;
  };
  readonly reason?: string;
  readonly message?: string;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
}

export interface Node extends KubernetesObject {
  readonly spec?: { readonly unschedulable?: boolean };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export interface PodDisruptionBudget extends KubernetesObject {
  readonly spec: { readonly selector?: LabelSelector };
  readonly status?: { readonly disruptionsAllowed?: number };
}

export interface HorizontalPodAutoscaler extends KubernetesObject {
  readonly spec: { readonly scaleTargetRef: { readonly kind: string; readonly name: string } };
}

/** A selector as the query parameter of a list. */
export function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const expressions = matchExpressions.map(({ key, operator, values = [] }) => {
    switch (operator) {
      case "In":
        return `${key} in (${values.join(",")})`;
      case "NotIn":
        return `${key} notin (${values.join(",")})`;
      case "DoesNotExist":
        return `!${key}`;
      default:
        return key;
    }
  });
  return [...Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`), ...expressions].join(",");
}

/** A Service without a selector has its endpoints from somebody else. */
export function serviceSelects(
  selector: Readonly<Record<string, string>> | undefined,
  labels: Readonly<Record<string, string>>,
): boolean {
  return Object.keys(selector ?? {}).length > 0 && selects({ matchLabels: selector ?? {} }, labels);
}

/** The controller of an Argo Rollout adds it to its pods, and to the selectors of the Services that it switches. */
export const rolloutHash = "rollouts-pod-template-hash";

/** Whether a Service selects pods that a workload of that kind makes with these labels. */
export function serviceSelectsPodsOf(
  kind: string,
  selector: Readonly<Record<string, string>> | undefined,
  labels: Readonly<Record<string, string>>,
): boolean {
  const isSwitched = selector?.[rolloutHash] !== undefined && kind.toLowerCase() === "rollout";
  return serviceSelects(
    selector,
    isSwitched ? { ...labels, [rolloutHash]: selector[rolloutHash] ?? "" } : labels,
  );
}

export function selects(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Readonly<Record<string, string>>,
): boolean {
  const labelled = Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
  return (
    labelled &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      if (operator === "Exists") return value !== undefined;
      if (operator === "DoesNotExist") return value === undefined;
      const listed = value !== undefined && values.includes(value);
      return operator === "In" ? listed : !listed;
    })
  );
}

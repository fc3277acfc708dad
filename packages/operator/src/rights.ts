import { exposingKinds, followed, recognisedKinds, routeKinds } from "@lameduck/cluster";
import { operatorNames } from "@lameduck/protocol";
import { objectKinds } from "@lameduck/senders";

/** A rule as a Role or ClusterRole holds it. */
export interface RoleRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** To follow these kinds: one rule for each group of the API. */
function mayFollow(kinds: readonly { readonly path: string }[]): readonly RoleRule[] {
  const resources = new Map<string, Set<string>>();
  for (const { path } of kinds) {
    const [, root, ...parts] = path.split("/");
    const group = root === "api" ? "" : (parts[0] ?? "");
    resources.set(group, (resources.get(group) ?? new Set()).add(parts.at(-1) ?? ""));
  }
  return Array.from(resources, ([group, own]) => ({
    apiGroups: [group],
    resources: [...own],
    verbs: ["list", "watch"],
  }));
}

/** To make an object, and then what is said of the one with this name only. */
function mayMake(
  group: string,
  resource: string,
  name: string,
  verbs: readonly string[],
): readonly RoleRule[] {
  const kind = { apiGroups: [group], resources: [resource] };
  return [
    { ...kind, verbs: ["create"] },
    { ...kind, verbs, resourceNames: [name] },
  ];
}

const builtInRoutes = routeKinds.filter(({ isBuiltIn }) => isBuiltIn);
const installedRoutes = routeKinds.filter(({ isBuiltIn }) => !isBuiltIn);

/** What the coordinator needs besides to record how pods ended: packages/coordinator/src/records. */
const recordRights: readonly RoleRule[] = [
  { apiGroups: ["lameduck.dev"], resources: ["drainreports"], verbs: ["create", "list", "patch", "delete"] },
  { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
  // Their uid: kubectl describe shows no Event that does not name it.
  {
    apiGroups: ["apps"],
    resources: ["deployments", "replicasets", "statefulsets", "daemonsets"],
    verbs: ["get"],
  },
];

/** The least that the operator's process needs: in its own namespace, and everywhere. */
export const operatorRights: Readonly<Record<"certificates" | "role" | "clusterRole", readonly RoleRule[]>> =
  {
    /** To make its own certificate: not needed with cert-manager. */
    certificates: [
      ...mayMake("", "secrets", operatorNames.certificateSecret, ["get", "list", "watch", "update"]),
    ],
    role: [...mayMake("coordination.k8s.io", "leases", operatorNames.lease, ["get", "update"])],
    clusterRole: [
      ...mayFollow([
        followed.services,
        followed.namespaces,
        followed.nodes,
        ...routeKinds,
        followed.ingressClasses,
        followed.referenceGrants,
        followed.drainPolicies,
        ...exposingKinds,
      ]),
      { apiGroups: ["lameduck.dev"], resources: ["drainpolicies/status"], verbs: ["patch"] },
      {
        apiGroups: ["admissionregistration.k8s.io"],
        resources: ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
        verbs: ["list", "watch", "patch"],
        resourceNames: [operatorNames.configuration],
      },
      // Whether a pod that is still there mounts the init volume, before it is taken away.
      { apiGroups: [""], resources: ["pods"], verbs: ["list"] },
      ...mayMake("", "configmaps", operatorNames.initConfigMap, ["list", "patch", "delete"]),
      // Of init volumes that were changed or are refused, and of workloads that lose requests.
      { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
    ],
  };

/** What telling of workloads that lose requests needs besides: only where it is switched on. packages/webhook/src/workload-audit. */
export const workloadAuditRights: readonly RoleRule[] = [
  { apiGroups: ["apps"], resources: ["deployments", "statefulsets", "daemonsets"], verbs: ["list"] },
  { apiGroups: ["autoscaling"], resources: ["horizontalpodautoscalers"], verbs: ["list"] },
  { apiGroups: ["policy"], resources: ["poddisruptionbudgets"], verbs: ["list"] },
];

/** What held deletions need besides: only where they are switched on. */
export const heldDeletionRights: readonly RoleRule[] = [
  {
    apiGroups: ["admissionregistration.k8s.io"],
    resources: ["validatingwebhookconfigurations"],
    verbs: ["list", "watch", "patch"],
    resourceNames: [operatorNames.heldDeletions],
  },
  // The labels that are taken, and put back.
  { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "patch"] },
  { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
  // The selectors that must not lose the pod, and whether another pod has come.
  { apiGroups: ["apps"], resources: ["replicasets", "statefulsets"], verbs: ["get"] },
  { apiGroups: [""], resources: ["replicationcontrollers"], verbs: ["get"] },
  { apiGroups: ["networking.k8s.io"], resources: ["networkpolicies"], verbs: ["list"] },
  { apiGroups: ["policy"], resources: ["poddisruptionbudgets"], verbs: ["list"] },
  // A pod without its label is evicted without asking its budget: the disruption is taken from it as the API server would.
  { apiGroups: ["policy"], resources: ["poddisruptionbudgets/status"], verbs: ["patch"] },
];

/** What surges before evictions need besides: only where they are switched on. */
export const surgeRights: readonly RoleRule[] = [
  {
    apiGroups: ["admissionregistration.k8s.io"],
    resources: ["validatingwebhookconfigurations"],
    verbs: ["list", "watch", "patch"],
    resourceNames: [operatorNames.surge],
  },
  // The label that is taken, and put back; and whether another pod is ready.
  { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "patch"] },
  { apiGroups: ["apps"], resources: ["replicasets"], verbs: ["get"] },
];

/** The least that the coordinator needs: in its own namespace, and everywhere. It reads, and asks whose a token is. */
export const coordinatorRights: Readonly<Record<"role" | "clusterRole", readonly RoleRule[]>> = {
  role: [...mayMake("coordination.k8s.io", "leases", operatorNames.coordinator.lease, ["get", "update"])],
  clusterRole: [
    ...mayFollow([
      followed.pods,
      followed.nodes,
      followed.services,
      followed.endpointSlices,
      ...builtInRoutes,
      followed.ingressClasses,
      followed.gateways,
      ...installedRoutes,
      followed.referenceGrants,
      followed.drainPolicies,
      followed.namespaces,
      ...recognisedKinds,
    ]),
    { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"] },
    ...recordRights,
  ],
};

/** What finding the groups of clouds' load balancers needs, everywhere. */
export const balancerRights: readonly RoleRule[] = objectKinds
  .filter(({ need }) => need.startsWith("load-balancer/"))
  .map(({ group, plural }) => ({ apiGroups: [group], resources: [plural], verbs: ["list", "watch"] }));

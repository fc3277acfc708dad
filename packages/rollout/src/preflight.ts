import { count } from "@lameduck/accounting/words";
import {
  type KubernetesClient,
  controllerOf,
  hasStatus,
  orUndefined,
  selects,
  type HorizontalPodAutoscaler,
  type KubernetesObject,
  type Pod,
  type PodDisruptionBudget,
  KubernetesError,
  missingRights,
  spellRight,
  type Rule,
} from "@lameduck/kube";
import type { Action } from "./actions/action.ts";
import { pauseOf } from "./progress.ts";
import type { Allowed } from "./following/observation.ts";
import { OwnedPods } from "./following/ownership.ts";
import type { OpenRoute } from "@lameduck/load";
import {
  autoscalers,
  hasReplicaSets,
  nameOf,
  pathOf,
  replicaSets,
  resources,
  type Resource,
  type TargetKind,
  type TargetReference,
} from "./target-reference.ts";
import type { Target } from "./target.ts";

const watched = ["list", "watch"] as const;

/** Rights for reading. Each says what the results lack without it. */
function readingRules(reference: TargetReference): Rule[] {
  const { kind, name } = reference;
  const own: Rule[] =
    kind === "pod"
      ? [
          { ...resources.pod, verbs: ["get", ...watched] },
          { ...replicaSets, verbs: ["get", ...watched], without: "the Deployment that replaces the pod" },
          ...["Deployment", "StatefulSet", "DaemonSet"].map((owner) => ({
            ...resources[owner.toLowerCase() as TargetKind],
            verbs: ["get", ...watched],
            without: `a ${owner} that replaces the pod`,
          })),
        ]
      : [
          { ...resources[kind], verbs: ["get", ...watched], name },
          { ...resources.pod, verbs: watched },
          ...(hasReplicaSets(kind) ? [{ ...replicaSets, verbs: watched }] : []),
        ];
  const withdrawals = "when pods were withdrawn, and whether there was any endpoint";
  return [
    ...own,
    optional("", "services", ["list"], `EndpointSlices: ${withdrawals}`),
    optional("discovery.k8s.io", "endpointslices", watched, withdrawals),
    optional("", "events", watched, "when SIGTERM was sent"),
    optional("", "pods/log", ["get"], "what Lameduck in the pods says of its phases"),
    optional("policy", "poddisruptionbudgets", ["list"], "disruption budgets"),
    { ...optional("", "nodes", watched, "nodes that fail or are cordoned meanwhile"), clusterWide: true },
  ];
}

function optional(group: string, resource: string, verbs: readonly string[], without: string): Rule {
  return { group, resource, verbs, without };
}

/** All rights for reading and for the action, and `more` for a load that runs in the cluster. */
export function neededRules(reference: TargetReference, action: Action, more: readonly Rule[] = []): Rule[] {
  return [...readingRules(reference), ...action.rules, ...more];
}

/** @throws {KubernetesError} LAMEDUCK_API_FORBIDDEN, which names every missing right that the rollout needs. */
export async function checkRights(
  client: KubernetesClient,
  reference: TargetReference,
  rules: readonly Rule[],
): Promise<{ readonly allowed: Allowed; readonly warnings: readonly string[] }> {
  const { namespace } = reference;
  const missing = await missingRights(client, namespace, rules);
  const needed = missing.filter(({ rule }) => rule.without === undefined);
  if (needed.length > 0)
    throw new KubernetesError(
      "LAMEDUCK_API_FORBIDDEN",
      nameOf(reference),
      `not allowed: ${needed.map((one) => spellRight(one, namespace)).join("; ")}`,
    );
  const may = (resource: string): boolean => missing.every(({ rule }) => rule.resource !== resource);
  return {
    allowed: {
      endpointSlices: may("endpointslices") && may("services"),
      events: may("events"),
      nodes: may("nodes"),
      logs: may("pods/log"),
      replicaSets: may("replicasets"),
    },
    warnings: missing.map(
      (one) => `not allowed: ${spellRight(one, namespace)}; not known therefore: ${one.rule.without}`,
    ),
  };
}

/** Warnings before anything happens. @throws {KubernetesError} LAMEDUCK_CANNOT_ROLL. */
export async function inspect(client: KubernetesClient, target: Target, action: Action): Promise<string[]> {
  const obstacle = action.obstacle(target);
  if (obstacle !== undefined)
    throw new KubernetesError("LAMEDUCK_CANNOT_ROLL", nameOf(target.reference), obstacle);
  return [
    ...aboutTarget(target, action),
    ...(await aboutNeighbours(client, target)),
    ...(await aboutBudgets(client, target, action)),
    ...(await aboutAutoscalers(client, target, action)),
  ];
}

function aboutTarget(target: Target, action: Action): string[] {
  const { owner, controller, replicas, podSpec, services } = target;
  const strategy = owner?.object.spec.strategy?.type;
  const partition = owner?.object.spec.updateStrategy?.rollingUpdate?.partition ?? 0;
  const pause = owner && pauseOf(owner.object);
  const first = podSpec.containers[0];
  return [
    ...(replicas === 0 ? ["it has no pod at all: nothing will be terminated"] : []),
    ...(replicas === 1
      ? ["one replica: while it is replaced there may be no endpoint (C9), whatever the pod does at its end"]
      : []),
    ...(owner ? [] : [aboutLonePod(controller)]),
    ...(strategy === "Recreate" && action.name === "restart"
      ? ["strategy Recreate: all pods end before a new one begins, requests in between find no endpoint (C9)"]
      : []),
    ...(partition > 0 && action.name === "restart"
      ? [
          `partition ${partition}: of its ${count(replicas, "pod")} a restart replaces ${replicas - partition}, the others stay`,
        ]
      : []),
    ...(pause ? [`it is ${pause.words}`] : []),
    ...(first && first.readinessProbe === undefined
      ? ["no readiness probe: new pods count as ready before they listen (C7)"]
      : []),
    ...(services.length === 0 ? ["no Service selects its pods, or Services may not be read"] : []),
  ];
}

function aboutLonePod(controller: Target["controller"]): string {
  return controller === undefined
    ? "nobody replaces this pod: once gone it stays away"
    : `${controller.kind}/${controller.name} may replace this pod: that is not followed`;
}

/** Selectors of workloads may overlap. Services and budgets then select the pods of both. */
async function aboutNeighbours(client: KubernetesClient, target: Target): Promise<string[]> {
  const { owner, podQuery, reference } = target;
  if (!owner) return [];
  const path = (resource: Resource): string =>
    `${pathOf(resource, reference.namespace)}?${new URLSearchParams(podQuery).toString()}`;
  const own: Pod[] = [];
  const owned = new OwnedPods(target, ({ object }) => own.push(object));
  const found = { type: "there", at: 0, live: false, since: 0 } as const;
  let sets: readonly KubernetesObject[] = [];
  try {
    if (hasReplicaSets(owner.reference.kind)) sets = await client.list(path(replicaSets));
  } catch (error) {
    if (!hasStatus(error, 403)) throw error;
    return ["ReplicaSets may not be listed: whether its selector matches pods of others is not known"];
  }
  for (const object of sets) owned.takeSet({ ...found, object });
  const pods = await client.list<Pod>(path(resources.pod));
  for (const object of pods) owned.takePod({ ...found, object });
  const others = pods.filter((pod) => !own.includes(pod));
  if (others.length === 0) return [];
  const named = others.slice(0, 5).map((pod) => {
    const { kind, name } = controllerOf(pod) ?? {};
    return `${pod.metadata.name} (${kind === undefined ? "of nobody" : `of ${kind}/${name}`})`;
  });
  return [
    `its selector matches pods of others, too: ${named.join(", ")}${others.length > 5 ? " and more" : ""}; they are left alone, ` +
      "but a Service or a PodDisruptionBudget with these labels takes them for its own",
  ];
}

async function aboutBudgets(client: KubernetesClient, target: Target, action: Action): Promise<string[]> {
  if (action.name !== "evict" && action.name !== "drain") return [];
  const path = pathOf({ group: "policy", resource: "poddisruptionbudgets" }, target.reference.namespace);
  const budgets = await orUndefined(client.list<PodDisruptionBudget>(path), 403);
  return (budgets ?? [])
    .filter(({ spec }) => spec.selector && selects(spec.selector, target.podLabels))
    .map(({ metadata, status }) => {
      const left = status?.disruptionsAllowed ?? 0;
      return `PodDisruptionBudget ${metadata.name} allows ${count(left, "disruption")} now${left === 0 ? ": evictions wait for it" : ""}`;
    });
}

/** An autoscaler may undo the scaling. */
async function aboutAutoscalers(
  client: KubernetesClient,
  { owner, reference }: Target,
  action: Action,
): Promise<string[]> {
  if (action.name !== "scale" || !owner) return [];
  const path = pathOf(autoscalers, reference.namespace);
  const scalers = await orUndefined(client.list<HorizontalPodAutoscaler>(path), 403, 404);
  const { kind, name } = owner.reference;
  return (scalers ?? [])
    .filter(({ spec: { scaleTargetRef: to } }) => to.kind.toLowerCase() === kind && to.name === name)
    .map(
      ({ metadata }) =>
        `HorizontalPodAutoscaler ${metadata.name} scales it, too: it may change the number again`,
    );
}

/** Warnings about a route, once it has answered. */
export function aboutRoute({ name, status, pod, others, address, tls }: OpenRoute): string[] {
  return [
    ...(status >= 400 ? [`${name} answers ${status}: is the path right?`] : []),
    ...(tls?.verify === false ? [`${name}: its certificate is not verified`] : []),
    ...(pod === undefined && status > 0
      ? [
          `${name} does not name its pod in a header (x-lameduck-pod, x-pod-name): of lost requests it is known by the connection or the time only`,
        ]
      : []),
    ...(others.length > 0
      ? [`${name} has ${others.length + 1} addresses: the load goes to ${address} only`]
      : []),
  ];
}

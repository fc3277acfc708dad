import type { Field } from "@lameduck/manifests";
import type { SeenRoute } from "@lameduck/senders";
import { wholeOr, type Amount } from "./amount.ts";
import { containerOf, type Container } from "./container.ts";
import type { ConfigMaps } from "./environment.ts";
import type { Images } from "./images.ts";
import { annotationOf, type KubeObject } from "./object.ts";
import { leadsRequests } from "./ports.ts";
import { whyWindows } from "./windows.ts";

/** What runs pods, with everything that relates to them. */
export interface Workload {
  readonly object: KubeObject;
  /** `spec` of the workload; of a Pod that of the pod itself. */
  readonly spec: Field;
  /** `spec` of the pod template. */
  readonly pod: Field;
  readonly template: Field;
  readonly labels: Readonly<Record<string, string>>;
  /** What says that its pods run on Windows. */
  readonly windows: string | undefined;
  readonly grace: Amount;
  /** Ordinary containers. */
  readonly containers: readonly Container[];
  /** Native sidecars: init containers that keep running. */
  readonly sidecars: readonly Container[];
  readonly replicas: Amount;
  /** Services that lead requests to it. */
  readonly services: readonly KubeObject[];
  /** Services by which only its metrics or its health are asked for. */
  readonly scraped: readonly KubeObject[];
  /** Ingresses and Gateway routes that lead to its Services. */
  readonly routes: readonly Route[];
  readonly autoscaler: KubeObject | undefined;
  readonly budgets: readonly KubeObject[];
  /** A PersistentVolumeClaim of its namespace; undefined where the input has none of the name. */
  readonly claim: (name: string) => KubeObject | undefined;
}

/** What leads to Services, with what tells its sender. */
export interface Route extends KubeObject {
  readonly seen: SeenRoute;
}

export interface Relations extends Pick<
  Workload,
  "services" | "routes" | "autoscaler" | "budgets" | "claim"
> {
  /** Of its namespace. */
  readonly configMaps: ConfigMaps;
}

/** @returns undefined for what has no pod template of its own, such as a patch. @throws {ManifestError} for a field of the wrong kind. */
export function templateOf({ kind, field }: KubeObject): Field | undefined {
  const spec = field.at("spec");
  const template =
    kind === "Pod"
      ? field
      : kind === "CronJob"
        ? spec.at("jobTemplate").at("spec").at("template")
        : spec.at("template");
  const containers = template.at("spec").at("containers").items();
  const isWhole = containers.some((one) => one.at("image").exists || one.at("command").exists);
  return isWhole ? template : undefined;
}

export function workloadOf(
  object: KubeObject,
  template: Field,
  images: Images,
  { configMaps, ...relations }: Relations,
): Workload {
  const spec =
    object.kind === "CronJob"
      ? object.field.at("spec").at("jobTemplate").at("spec")
      : object.field.at("spec");
  const pod = template.at("spec");
  const isPidShared = pod.at("shareProcessNamespace").isTrue() || pod.at("hostPID").isTrue();
  const isInjected = annotationOf(template, "lameduck.dev/injected").exists;
  const facts = { spec: pod, images, configMaps, isPidShared, isInjected };
  const containers = pod
    .at("containers")
    .items()
    .map((one) => containerOf(one, facts));
  const { leading = [], other = [] } = Object.groupBy(relations.services, ({ field }) =>
    leadsRequests(field, containers) ? "leading" : "other",
  );
  return {
    object,
    spec,
    pod,
    template,
    labels: template.at("metadata").at("labels").textMap(),
    windows: whyWindows(pod.plain()),
    grace: graceOf(pod),
    containers,
    sidecars: pod
      .at("initContainers")
      .items()
      .filter((one) => one.at("restartPolicy").text() === "Always")
      .map((one) => containerOf(one, facts)),
    replicas: replicasOf(object, relations),
    ...relations,
    services: leading,
    scraped: other,
  };
}

/** The API server takes a negative one, and counts it as 1. */
function graceOf(pod: Field): Amount {
  const grace = wholeOr(pod.at("terminationGracePeriodSeconds"), Number.MIN_SAFE_INTEGER, "grace", 30);
  return grace.value < 0 ? { ...grace, name: `grace (${grace.value} counts as 1)`, value: 1 } : grace;
}

function replicasOf(object: KubeObject, relations: Pick<Relations, "autoscaler">): Amount {
  const amount = replicasIn(object, relations);
  return amount.value === 1 ? { ...amount, name: amount.name.replace(/s$/, "") } : amount;
}

function replicasIn({ kind, field }: KubeObject, { autoscaler }: Pick<Relations, "autoscaler">): Amount {
  const spec = field.at("spec");
  if (kind === "Pod" || kind === "DaemonSet")
    return { name: "replicas", value: 1, origin: { kind: "default", of: kind } };
  if (autoscaler === undefined) return wholeOr(spec.at("replicas"), 0, "replicas", 1);
  const key = autoscaler.kind === "ScaledObject" ? "minReplicaCount" : "minReplicas";
  const least = autoscaler.field.at("spec").at(key);
  return wholeOr(least, 0, "least replicas", autoscaler.kind === "ScaledObject" ? 0 : 1);
}

import type { Inventory, Workload } from "@lameduck/audit";
import { asWritten } from "./container.ts";

/** More pods than that show the same and take longer. */
const mostReplicas = 4;
const longestWaitSeconds = 5;

type Plain = Readonly<Record<string, unknown>>;

/** The manifest that the lab rolls: the workload with what decides about its stop, its Service, and the ConfigMaps beside it. */
export function documentsOf(
  workload: Workload,
  mains: readonly Plain[],
  sidecars: readonly Plain[],
  objects: Inventory["objects"],
): Plain {
  const { object, labels, grace, template } = workload;
  const { name, namespace } = object;
  const configMaps = objects.filter((one) => one.type === "/ConfigMap" && one.namespace === namespace);
  const item = {
    apiVersion: "apps/v1",
    kind: object.kind === "StatefulSet" ? "StatefulSet" : "Deployment",
    metadata: { name, namespace },
    spec: {
      ...rolloutOf(workload),
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: grace.value,
          ...asWritten(template.at("spec"), "securityContext", "volumes"),
          containers: mains,
          initContainers: sidecars.map((one) => ({ ...one, restartPolicy: "Always" })),
        },
      },
    },
  };
  return {
    apiVersion: "v1",
    kind: "List",
    items: [item, ...servicesOf(workload), ...configMaps.map(({ field }) => field.plain())],
  };
}

function rolloutOf({ object, spec, replicas }: Workload): Plain {
  const count = { replicas: Math.max(1, Math.min(replicas.value, mostReplicas)) };
  // What new pods wait for changes nothing about the stop of the old ones.
  const waiting = { minReadySeconds: Math.min(longestWaitSeconds, spec.at("minReadySeconds").whole(0, 0)) };
  switch (object.kind) {
    case "Deployment":
      return { ...count, ...asWritten(spec, "strategy"), ...waiting };
    case "StatefulSet":
      return { ...count, ...asWritten(spec, "updateStrategy", "podManagementPolicy"), ...waiting };
    case "DaemonSet":
      // It replaces its pods in place, one after the other.
      return { replicas: 2, strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } } };
    default:
      return count;
  }
}

function servicesOf({ services: [service] }: Workload): Plain[] {
  if (service === undefined) return [];
  const spec = service.field.at("spec");
  const ports = spec
    .at("ports")
    .items()
    .map((port) => asWritten(port, "name", "port", "targetPort"));
  return [
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: service.name },
      spec: { selector: spec.at("selector").plain(), ports },
    },
  ];
}

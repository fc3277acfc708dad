import type { Workload } from "@lameduck/audit";
import type { PlayedContainer } from "./container.ts";

/** More pods than that show the same and take longer. */
const mostReplicas = 4;
const longestWaitSeconds = 5;

type Plain = Readonly<Record<string, unknown>>;

/** The manifest that the lab rolls: the workload with what decides about its stop, and its Service. */
export function documentsOf(
  workload: Workload,
  mains: readonly PlayedContainer[],
  sidecars: readonly PlayedContainer[],
): Plain {
  const { object, labels, grace } = workload;
  const { name, namespace } = object;
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
          containers: mains.map(({ manifest }) => manifest),
          initContainers: sidecars.map(({ manifest }) => ({ ...manifest, restartPolicy: "Always" })),
        },
      },
    },
  };
  return { apiVersion: "v1", kind: "List", items: [item, ...servicesOf(workload)] };
}

function rolloutOf({ object, spec, replicas }: Workload): Plain {
  const as = (...keys: string[]): Plain =>
    Object.fromEntries(
      keys.filter((key) => spec.at(key).exists).map((key) => [key, spec.at(key).plain()] as const),
    );
  const count = { replicas: Math.max(1, Math.min(replicas.value, mostReplicas)) };
  // What new pods wait for changes nothing about the stop of the old ones.
  const waiting = { minReadySeconds: Math.min(longestWaitSeconds, spec.at("minReadySeconds").whole(0, 0)) };
  switch (object.kind) {
    case "Deployment":
      return { ...count, ...as("strategy"), ...waiting };
    case "StatefulSet":
      return { ...count, ...as("updateStrategy", "podManagementPolicy"), ...waiting };
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
    .map((port) =>
      Object.fromEntries(
        ["name", "port", "targetPort"]
          .filter((key) => port.at(key).exists)
          .map((key) => [key, port.at(key).plain()] as const),
      ),
    );
  return [
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: service.name },
      spec: { selector: spec.at("selector").plain(), ports },
    },
  ];
}

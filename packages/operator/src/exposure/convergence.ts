import { objectOf, sendersOf } from "@lameduck/audit";
import { ManifestError, readDocuments } from "@lameduck/manifests";
import type { KeptRoute, ServiceObject } from "./objects.ts";

/** How long a sender goes on choosing a pod that is deleted, and where the number comes from. */
export interface Convergence {
  /** Seconds. */
  readonly value: number;
  readonly origin: string;
}

/** By the same rules as the audit's. @returns none where an object says nothing that could be read. */
export function convergenceOf(object: ServiceObject | KeptRoute): Convergence | undefined {
  const isRoute = "services" in object;
  const { name, namespace, annotations } = object.metadata;
  const manifest = {
    apiVersion: isRoute
      ? object.kind === "Ingress"
        ? "networking.k8s.io/v1"
        : "gateway.networking.k8s.io/v1"
      : "v1",
    kind: isRoute ? object.kind : "Service",
    metadata: { name, namespace, annotations },
    spec: isRoute ? { ingressClassName: object.ingressClassName } : object.spec,
  };
  try {
    const [field] = readDocuments(JSON.stringify(manifest), name).objects;
    if (!field) return undefined;
    const one = objectOf(field);
    const senders = sendersOf(isRoute ? { services: [], routes: [one] } : { services: [one], routes: [] });
    return senders
      .map(({ name: sender, convergence }) => ({ value: convergence.value, origin: sender }))
      .reduce<Convergence | undefined>((a, b) => (a && a.value >= b.value ? a : b), undefined);
  } catch (error) {
    if (error instanceof ManifestError) return undefined;
    throw error;
  }
}

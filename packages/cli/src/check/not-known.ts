import type { Rule } from "@lameduck/kube";
import type { Unread } from "../cluster/reading.ts";

/** A question that could not be answered. It is never reported as answered well. */
export interface NotKnown {
  readonly what: string;
  readonly because: string;
  /** With which it could be. */
  readonly right?: Rule;
}

/** What a list would have told, by its resource. */
const told: Readonly<Record<string, string>> = {
  pods: "what runs, which meshes and controllers there are, and what pods would get",
  "drainpolicies.lameduck.dev": "the DrainPolicies that are there",
  nodes: "the nodes, and where watchers can run",
  namespaces: "the namespaces, and which labels they have",
  services: "the Services, and which load balancers send to them",
  "ingresses.networking.k8s.io": "which Services Ingresses lead to",
  "ingressclasses.networking.k8s.io": "who serves Ingresses",
  "gatewayclasses.gateway.networking.k8s.io": "who serves Gateways",
};

export function notKnownOf(unread: readonly Unread[]): NotKnown[] {
  return unread.map(({ resource, state }) => ({
    what: told[resource] ?? `where ${resource} lead`,
    because: state === "refused" ? `${resource} may not be listed` : `no list of ${resource} came in time`,
    ...(state === "refused" ? { right: listing(resource) } : {}),
  }));
}

function listing(name: string): Rule {
  const [resource = "", ...group] = name.split(".");
  return { group: group.join("."), resource, verbs: ["list"], clusterWide: true };
}

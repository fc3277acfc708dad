import { software } from "../injected/software.ts";
import { clusterRemedy, type ClusterRemedy } from "../matrix/remedies.ts";

/** How a pod comes to hold: by itself, or because the webhook changed it when it was made. */
export interface Way {
  readonly name: string;
  readonly description: string;
  readonly isInjected: boolean;
  readonly pod: ClusterRemedy["pod"];
}

function known(name: string): ClusterRemedy["pod"] {
  const remedy = clusterRemedy(name) ?? software[name];
  if (remedy === undefined) throw new Error(`no remedy ${name}`);
  return remedy.pod;
}

export const ways: readonly Way[] = [
  { name: "library", description: "@lameduck/node", isInjected: false, pod: known("adaptive") },
  { name: "init", description: "lameduck-init before nginx", isInjected: false, pod: known("nginx-init") },
  {
    name: "wait",
    description: "lameduck-init wait as preStop hook of nginx",
    isInjected: false,
    pod: known("nginx-init-wait"),
  },
  { name: "nginx", description: "nginx as it comes, injected", isInjected: true, pod: known("nginx") },
  { name: "haproxy", description: "HAProxy as it comes, injected", isInjected: true, pod: known("haproxy") },
];

/** What tells a pod of the coordinator; injected ones get it from the webhook. */
const coordinatorEnvironment = (coordinator: string, policy: string): ClusterRemedy["pod"] => ({
  environment: { LAMEDUCK_COORDINATOR: coordinator, LAMEDUCK_POLICY: policy },
  fields: {
    LAMEDUCK_POD_NAME: "metadata.name",
    LAMEDUCK_POD_NAMESPACE: "metadata.namespace",
    LAMEDUCK_POD_UID: "metadata.uid",
  },
});

/** The pods of a way, with or without acknowledgements. */
export function remedyOf(way: Way, coordinator: string | undefined, policy = "adaptive"): ClusterRemedy {
  const extra =
    coordinator === undefined || way.isInjected ? {} : coordinatorEnvironment(coordinator, policy);
  return {
    name: `${way.name}, ${coordinator === undefined ? "alone" : "acknowledged"}`,
    description: way.description,
    pod: { ...way.pod, ...extra, environment: { ...way.pod.environment, ...extra.environment } },
  };
}

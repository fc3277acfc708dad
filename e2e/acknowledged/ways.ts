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

/** A pod that nobody injects has the longest hold that its grace period leaves. */
const capped = (capSeconds: number): ClusterRemedy["pod"] => ({
  gracePeriodSeconds: capSeconds + 5,
  environment: { LAMEDUCK_GRACE_PERIOD: `${capSeconds + 5}s` },
});

/** The pods of a way, with or without acknowledgements. */
export function remedyOf(
  way: Way,
  coordinator: string | undefined,
  {
    policy = "adaptive",
    capSeconds,
  }: { readonly policy?: string; readonly capSeconds?: number | undefined } = {},
): ClusterRemedy {
  const told = coordinator === undefined || way.isInjected ? {} : coordinatorEnvironment(coordinator, policy);
  const held = capSeconds === undefined || way.isInjected ? {} : capped(capSeconds);
  const environment = { ...way.pod.environment, ...told.environment, ...held.environment };
  return {
    name: `${way.name}, ${coordinator === undefined ? "alone" : "acknowledged"}`,
    description: way.description,
    pod: { ...way.pod, ...told, ...held, environment },
  };
}

import { KubernetesError } from "@lameduck/kube";

/** A resource of the API. Default of its version: v1. */
export interface Resource {
  readonly group: string;
  readonly resource: string;
  readonly version?: string;
}

export const resources = {
  deployment: { group: "apps", resource: "deployments" },
  statefulset: { group: "apps", resource: "statefulsets" },
  daemonset: { group: "apps", resource: "daemonsets" },
  rollout: { group: "argoproj.io", resource: "rollouts", version: "v1alpha1" },
  pod: { group: "", resource: "pods" },
} as const;

export type TargetKind = keyof typeof resources;
export const targetKinds = Object.keys(resources) as TargetKind[];

/** As kubectl abbreviates them. */
const shortNames = { deployment: "deploy", statefulset: "sts", daemonset: "ds", rollout: "ro", pod: "po" };

/** The workload or pod to roll, as it is named on the command line. */
export interface TargetReference {
  readonly kind: TargetKind;
  readonly name: string;
  readonly namespace: string;
}

/** "deployment/web" @throws {KubernetesError} LAMEDUCK_BAD_TARGET. */
export function parseTarget(text: string, namespace: string): TargetReference {
  const [kind = "", name = "", ...rest] = text.split("/");
  const wanted = kind.toLowerCase().replace(/\..*$/, "");
  const known = targetKinds.find((one) => [one, `${one}s`, shortNames[one]].includes(wanted));
  if (known === undefined || name === "" || rest.length > 0)
    throw new KubernetesError(
      "LAMEDUCK_BAD_TARGET",
      `"${text}"`,
      known === undefined && text.includes("/")
        ? `"${kind}" is no kind that has pods to roll`
        : "is not KIND/NAME",
    );
  if (!isName(name))
    throw new KubernetesError("LAMEDUCK_BAD_TARGET", `"${text}"`, `"${name}" cannot be a name`);
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace))
    throw new KubernetesError(
      "LAMEDUCK_BAD_TARGET",
      `namespace "${namespace}"`,
      "cannot be one: lower-case letters, digits and hyphens only; is a variable empty?",
    );
  return { kind: known, name, namespace };
}

/** Whether the API accepts a text as the name of an object. The name becomes part of a path. */
export function isName(text: string): boolean {
  return text.length <= 253 && /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/.test(text);
}

/** "deployment/web" */
export function nameOf({ kind, name }: TargetReference): string {
  return `${kind}/${name}`;
}

/** What stands between a Deployment, or an Argo Rollout, and its pods. */
export const replicaSets = { group: "apps", resource: "replicasets" } as const;

export function hasReplicaSets(kind: TargetKind): boolean {
  return kind === "deployment" || kind === "rollout";
}

export const autoscalers = { group: "autoscaling", resource: "horizontalpodautoscalers" } as const;

/** The API's path of a namespace's resource, or of one object of it. */
export function pathOf(
  { group, resource, version = "v1" }: Resource,
  namespace: string,
  name?: string,
): string {
  const root = group === "" ? "/api/v1" : `/apis/${group}/${version}`;
  return `${root}/namespaces/${namespace}/${resource}${name === undefined ? "" : `/${name}`}`;
}

import { whyWindows } from "@lameduck/audit";
import { declining, injectLabel } from "@lameduck/protocol";
import { annotationOf } from "./policy/fields.ts";
import type { Reason } from "./injection.ts";
import { mostContainers, podOf, type PodView } from "./pod.ts";

export const injectLabelValue = "enabled";
/** Without them no pod starts, and a cluster that cannot start its pods cannot start ours. */
export const systemNamespaces: readonly string[] = ["kube-system", "kube-public", "kube-node-lease"];

export interface PodNamespace {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** The namespace that Lameduck itself runs in. */
  readonly ownNamespace?: string;
}

/** The pod, read; or why it is none of Lameduck's business, whatever the settings. @param namespace where it is known. */
export function podToInject(pod: unknown, namespace?: PodNamespace): PodView | Reason {
  const left = namespace && reasonOfNamespace(namespace);
  if (left) return left;
  const view = podOf(pod);
  return "code" in view ? view : (reasonOfPod(view) ?? view);
}

function reasonOfNamespace({ name, labels, ownNamespace }: PodNamespace): Reason | undefined {
  if (name === ownNamespace || systemNamespaces.includes(name))
    return { code: "system-namespace", text: `${name} is left alone` };
  if (labels?.[injectLabel] !== injectLabelValue)
    return {
      code: "namespace-not-labelled",
      text: `namespace ${name} is not labelled ${injectLabel}=${injectLabelValue}`,
    };
  return undefined;
}

function reasonOfPod({ annotations, labels, owners, spec, containers }: PodView): Reason | undefined {
  if (containers.length > mostContainers)
    return {
      code: "too-many-containers",
      text: `the pod has ${containers.length} containers; pods with more than ${mostContainers} are left as they are`,
    };
  if (
    typeof annotations["kubernetes.io/config.mirror"] === "string" ||
    annotations["kubernetes.io/config.source"] === "file"
  )
    return { code: "static-pod", text: "the kubelet makes this pod from a file" };
  const isAskedFor = annotations[annotationOf("inject")] === "true";
  if (owners.includes("Job") && !isAskedFor) return { code: "of-a-job", text: "a Job owns the pod" };
  if (!isAskedFor && spec["activeDeadlineSeconds"] !== undefined && spec["activeDeadlineSeconds"] !== null)
    return { code: "ends-by-itself", text: "activeDeadlineSeconds ends the pod at its time" };
  if (typeof spec["restartPolicy"] === "string" && spec["restartPolicy"] !== "Always" && !isAskedFor)
    return { code: "ends-by-itself", text: "restartPolicy is not Always" };
  const windows = whyWindows(spec);
  if (windows !== undefined) return { code: "windows", text: `the pod is for Windows: ${windows}` };
  if (spec["terminationGracePeriodSeconds"] === 0)
    return { code: "killed-at-once", text: "terminationGracePeriodSeconds is 0" };
  if (annotations[annotationOf("inject")] === "false")
    return { code: "opted-out", text: `annotation ${annotationOf("inject")} is "false"` };
  const label = labels[injectLabel];
  if (typeof label === "string" && declining.includes(label))
    return { code: "opted-out", text: `label ${injectLabel} is "${label}"` };
  return undefined;
}

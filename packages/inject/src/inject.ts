import type { InjectionSettings } from "./policy/settings.ts";
import type { ClusterFacts, Injection, PatchOperation, Reason } from "./injection.ts";
import { planOf, type ContainerPlan, type Plan } from "./plan.ts";
import type { PodView } from "./pod.ts";
import { isMap } from "@lameduck/protocol";

/**
 * What admission makes of a pod that is about to be created. Pure, and never fails: a pod that cannot be read is left alone.
 * @param pod of `podToInject`.
 */
export function inject(pod: PodView | Reason, settings: InjectionSettings, facts: ClusterFacts): Injection {
  const { plan, reasons, warnings } = planOf(pod, settings, facts);
  if (plan === undefined) return { patch: [], reasons, warnings };
  return { patch: patchOf(plan), reasons, warnings, times: plan.times };
}

/** The plan as a JSON patch, for the answer to an AdmissionReview. */
export function patchOf({
  pod,
  containers,
  volumes,
  initContainers,
  grace,
  annotations,
}: Plan): PatchOperation[] {
  const { spec } = pod;
  return [
    ...containers.flatMap((one) => ofContainer(one, pod.containers[one.index]!)),
    ...added("/spec/volumes", spec["volumes"], volumes),
    ...added("/spec/initContainers", spec["initContainers"], initContainers, "0"),
    ...(grace === undefined
      ? []
      : [
          {
            op: "terminationGracePeriodSeconds" in spec ? ("replace" as const) : ("add" as const),
            path: "/spec/terminationGracePeriodSeconds",
            value: grace,
          },
        ]),
    ...ofAnnotations(pod, annotations),
  ];
}

function ofContainer(
  { index, preStop, env, changed, mounts }: ContainerPlan,
  container: Readonly<Record<string, unknown>>,
): PatchOperation[] {
  const base = `/spec/containers/${index}`;
  const operations: PatchOperation[] = [];
  if (changed) {
    const hasValue = "value" in (container["env"] as Record<string, unknown>[])[changed.at]!;
    operations.push({
      op: hasValue ? "replace" : "add",
      path: `${base}/env/${changed.at}/value`,
      value: changed.value,
    });
  }
  operations.push(...added(`${base}/env`, container["env"], env));
  operations.push(...added(`${base}/volumeMounts`, container["volumeMounts"], mounts));
  if (preStop !== undefined)
    operations.push(
      isMap(container["lifecycle"])
        ? { op: "add", path: `${base}/lifecycle/preStop`, value: preStop }
        : { op: "add", path: `${base}/lifecycle`, value: { preStop } },
    );
  return operations;
}

function added(
  path: string,
  before: unknown,
  values: readonly unknown[],
  at: "-" | "0" = "-",
): PatchOperation[] {
  if (values.length === 0) return [];
  if (!Array.isArray(before)) return [{ op: "add", path, value: values }];
  return values.map((value) => ({ op: "add", path: `${path}/${at}`, value }));
}

function ofAnnotations(
  { hasMetadata, hasAnnotations }: Plan["pod"],
  annotations: Readonly<Record<string, string>>,
): PatchOperation[] {
  if (!hasMetadata) return [{ op: "add", path: "/metadata", value: { annotations } }];
  if (!hasAnnotations) return [{ op: "add", path: "/metadata/annotations", value: annotations }];
  return Object.entries(annotations).map(([key, value]) => ({
    op: "add",
    path: `/metadata/annotations/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`,
    value,
  }));
}

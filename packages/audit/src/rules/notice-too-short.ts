import type { Field } from "@lameduck/manifests";
import { compare } from "../facts/arithmetic.ts";
import { factOf } from "../facts/facts.ts";
import { exposureOf } from "../facts/serving.ts";
import { assumed, seconds, type Amount } from "../model/amount.ts";
import type { Workload } from "../model/workload.ts";
import type { Rule } from "../rule.ts";

/** Labels of nodes that are taken away at short notice, and the notice. */
const spot: readonly { readonly label: RegExp; readonly value?: RegExp; readonly notice: Amount }[] = [
  {
    label:
      /^(?:karpenter\.sh\/capacity-type|eks\.amazonaws\.com\/capacityType|node\.kubernetes\.io\/lifecycle)$/,
    value: /^spot$/i,
    notice: assumed("notice of AWS", 120, "AWS takes a spot instance 120 s after its notice"),
  },
  {
    label: /^cloud\.google\.com\/gke-(?:spot|preemptible)$/,
    notice: assumed("notice of GKE", 25, "GKE gives pods of spot nodes 25 s at most (15 s before 1.29)"),
  },
  {
    label: /^kubernetes\.azure\.com\/scalesetpriority$/,
    value: /^spot$/i,
    notice: assumed("notice of Azure", 30, "Azure takes a spot node 30 s after its notice"),
  },
];

const autoscaler = assumed(
  "limit of the cluster autoscaler",
  600,
  "it waits for pods 600 s at most when it removes a node (max-graceful-termination-sec), where there is one",
);

export const noticeTooShort: Rule = {
  id: "notice-too-short",
  title: "The node is gone before the grace period is over",
  meaning: `A spot node is removed a fixed time after its notice, whatever its pods still do. At a node shutdown the kubelet gives pods
\`shutdownGracePeriod\`, if it is set, and no more. A longer grace period of the pod is cut. The cluster autoscaler waits for 600 s at most by default.
A node shutdown deletes no pod: its endpoints stay ready, and senders go on choosing it.`,
  remedy: "Make hold and drain fit into the notice, or run the workload on other nodes",
  references: [
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html",
    "https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/",
    "https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md",
  ],
  *check(workload, { facts }) {
    const { grace, pod, object } = workload;
    if (exposureOf(workload) === "none") return;
    const at = pod.at("terminationGracePeriodSeconds");
    const place = at.exists ? at : object.field.at("metadata").at("name");
    for (const notice of [factOf(workload, "node-shutdown", facts), spotNotice(workload) ?? autoscaler]) {
      if (notice === undefined || grace.value <= notice.value) continue;
      yield {
        severity: notice === autoscaler ? "info" : "warning",
        message: `the grace period of ${seconds(grace.value)} s is longer than the ${seconds(notice.value)} s that the node leaves`,
        at: place,
        arithmetic: compare([grace], ">", notice),
      };
    }
  },
};

/** The notice of spot nodes, for pods that are bound to them or tolerate them. */
function spotNotice({ pod }: Workload): Amount | undefined {
  const found = (key: string, value: string): Amount | undefined =>
    spot.find((one) => one.label.test(key) && (one.value?.test(value) ?? true))?.notice;
  const pairs: (readonly [string, string])[] = pod
    .at("nodeSelector")
    .entries()
    .map(([key, value]) => [key, value.text() ?? ""]);
  for (const toleration of pod.at("tolerations").items())
    pairs.push([toleration.at("key").text() ?? "", toleration.at("value").text() ?? ""]);
  const affinity = pod.at("affinity").at("nodeAffinity").at("requiredDuringSchedulingIgnoredDuringExecution");
  for (const term of affinity.at("nodeSelectorTerms").items())
    for (const one of term.at("matchExpressions").items())
      if (one.at("operator").text() === "In") pairs.push(...valuesOf(one));
  return pairs.map(([key, value]) => found(key, value)).find((one) => one !== undefined);
}

function valuesOf(expression: Field): (readonly [string, string])[] {
  const values = expression.at("values").texts();
  // Whether other nodes qualify is unknown.
  return values.length === 1 ? [[expression.at("key").text() ?? "", values[0] ?? ""]] : [];
}

import type { Field } from "@lameduck/manifests";
import { compare, reserve, sumOf } from "../facts/arithmetic.ts";
import { factOf, type Facts } from "../facts/facts.ts";
import { holdOf } from "../facts/hold.ts";
import { capOf, ownStopOf } from "../facts/lameduck.ts";
import { exposureOf, servingContainers } from "../facts/serving.ts";
import { drainSetting } from "../facts/settings.ts";
import { assumed, seconds, type Amount } from "../model/amount.ts";
import type { Container } from "../model/container.ts";
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
  meaning: `A spot node is removed a fixed time after its notice, whatever its pods still do. At a graceful shutdown the kubelet gives pods
\`shutdownGracePeriod\` less \`shutdownGracePeriodCriticalPods\`, if they are set, and no more. A longer grace period of the pod is cut, and so is a hook: the
program has 2 s then. The cluster autoscaler waits for 600 s at most by default. A node shutdown deletes no pod and asks no readiness probe any more:
endpoints stay ready until the containers have ended, and senders go on sending to them.`,
  remedy:
    "Make hold and drain fit into the notice, or run the workload on other nodes; `lameduck inject` makes holds fit into what the annotation lameduck.dev/node-shutdown says",
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
    const needs = servingContainers(workload).map((container) => needOf(workload, container, facts));
    const longest = needs.toSorted((one, other) => sumOf(other.parts) - sumOf(one.parts))[0]?.parts ?? [];
    for (const notice of [factOf(workload, "node-shutdown", facts), spotNotice(workload) ?? autoscaler]) {
      if (notice === undefined || grace.value <= notice.value) continue;
      const isTooLong = longest.length > 0 && sumOf(longest) > notice.value;
      if (!isTooLong && needs.every(({ isAll }) => isAll)) continue;
      yield {
        severity: notice === autoscaler ? "info" : "warning",
        message: isTooLong
          ? `hold, drain and reserve need ${seconds(sumOf(longest))} s; the node leaves ${seconds(notice.value)} s`
          : `the grace period of ${seconds(grace.value)} s is longer than the ${seconds(notice.value)} s that the node leaves`,
        at: place,
        arithmetic: compare(isTooLong ? longest : [grace], ">", notice),
      };
    }
  },
};

interface Need {
  /** Empty: nothing is known of it. */
  readonly parts: readonly Amount[];
  /** Nothing else takes time, or Lameduck bounds what does. */
  readonly isAll: boolean;
}

/** The time that a container takes at its end, as far as the manifest tells. */
function needOf(workload: Workload, container: Container, facts: Facts): Need {
  const own = ownStopOf(container);
  const cap = own && capOf(container, own)?.amount;
  const hold = own ? undefined : holdOf(workload, container, facts);
  const parts = cap ? [{ ...cap, name: "cap" }] : hold?.kind === "fixed" ? hold.parts : [];
  const drain = factOf(workload, "drain", facts) ?? drainSetting(container)?.amount;
  if (parts.length === 0) return { parts, isAll: false };
  const all = [...parts, ...(drain ? [{ ...drain, name: "drain" }] : []), reserve];
  return { parts: all, isAll: own !== undefined || drain !== undefined };
}

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

import type { Field } from "@lameduck/manifests";
import { exposureOf } from "../facts/serving.ts";
import type { RuleFinding } from "../finding.ts";
import { fromField, type Amount } from "../model/amount.ts";
import type { KubeObject } from "../model/object.ts";
import type { Rule } from "../rule.ts";

export const disruptionBudget: Rule = {
  id: "disruption-budget",
  title: "The disruption budget blocks every drain, or protects nothing",
  meaning: `A PodDisruptionBudget decides how many pods may be evicted at once. If it allows none, \`kubectl drain\` and the autoscaler wait
for ever, until somebody deletes pods by hand, which bypasses the budget. If it allows all, or if there is no budget, a drain may stop every pod of
a Service at the same moment. If two budgets select the same pod, the eviction API refuses to evict the pod at all. Percentages are rounded
up. Pods that run but never get ready block a drain, too, unless \`unhealthyPodEvictionPolicy\` is \`AlwaysAllow\`. Such pods get no requests, so
evicting them loses nothing.`,
  remedy:
    "Allow one pod at a time: maxUnavailable: 1 and unhealthyPodEvictionPolicy: AlwaysAllow, with at least two replicas",
  references: [
    "https://kubernetes.io/docs/tasks/run-application/configure-pdb/#unhealthy-pod-eviction-policy",
  ],
  *check(workload, { notRead }) {
    const { budgets, replicas, object } = workload;
    if (["Pod", "DaemonSet", "Job", "CronJob"].includes(object.kind)) return;
    // Nothing can be evicted.
    if (replicas.value === 0) return;
    const [first, second] = budgets;
    if (first && second) {
      yield {
        severity: "error",
        message: `${budgets.map(({ name }) => name).join(" and ")} select the same pods: the eviction API refuses to evict them`,
        at: second.field.at("metadata").at("name"),
        remedy: "keep one of them",
      };
      return;
    }
    if (first === undefined) {
      if (notRead?.has("policy/PodDisruptionBudget")) return;
      if (replicas.value >= 2 && exposureOf(workload) === "service")
        yield {
          severity: "info",
          message: `there is no PodDisruptionBudget: a drain of several nodes may stop all ${replicas.value} pods at the same moment`,
          at: object.field.at("metadata").at("name"),
        };
      return;
    }
    const refused = refusedBecause(first);
    if (refused) {
      yield { severity: "error", ...refused, remedy: "use maxUnavailable: 1 alone" };
      return;
    }
    const { allowed, from, at } = allowedBy(first, replicas.value);
    if (from === undefined) return;
    if (allowed >= 1 && (allowed < replicas.value || replicas.value < 2)) {
      yield* unhealthy(first);
      return;
    }
    const isBlocked = allowed < 1;
    // One replica that may not go is a choice between two losses.
    const isOnly = isBlocked && replicas.value === 1;
    yield {
      severity: isBlocked && !isOnly ? "warning" : "info",
      message: isBlocked
        ? `${first.name} allows no pod to be evicted: drains and the autoscaler wait for ever${isOnly ? "; with one replica any drain loses requests" : ""}`
        : `${first.name} allows all ${replicas.value} pods to be evicted at once`,
      at,
      arithmetic: {
        sum: `${replicas.value} ${replicas.name}, ${from.value} ${from.name}: ${allowed} may go`,
        terms: [replicas, from],
      },
      ...(isOnly ? { remedy: "use two replicas and maxUnavailable: 1" } : {}),
    };
  },
};

/** By default a pod that runs and is not ready counts as one that the budget protects. */
function* unhealthy({ name, field }: KubeObject): Iterable<RuleFinding> {
  const policy = field.at("spec").at("unhealthyPodEvictionPolicy");
  if (policy.text() === "AlwaysAllow") return;
  yield {
    severity: "info",
    message: `${name} protects pods that are not ready as well: while too few are ready, drains wait`,
    at: policy.exists ? policy : field.at("metadata").at("name"),
    remedy: "set unhealthyPodEvictionPolicy: AlwaysAllow (Kubernetes 1.27 and newer)",
  };
}

/** What the API server does not take. */
function refusedBecause({ name, field }: KubeObject): { message: string; at: Field } | undefined {
  const spec = field.at("spec");
  const [most, least] = [spec.at("maxUnavailable"), spec.at("minAvailable")];
  if (most.exists && least.exists)
    return {
      message: `${name} sets minAvailable and maxUnavailable: the API server takes one of them`,
      at: least,
    };
  const wrong = [most, least].find((one) => {
    const value = one.numberOrText();
    return typeof value === "string" && !/^\d+%$/.test(value);
  });
  return (
    wrong && {
      message: `${name}: "${String(wrong.numberOrText())}" is neither a number nor a share such as 25%`,
      at: wrong,
    }
  );
}

function allowedBy(
  { field }: KubeObject,
  replicas: number,
): { allowed: number; from: Amount | undefined; at: Field } {
  const spec = field.at("spec");
  const most = spec.at("maxUnavailable");
  const least = spec.at("minAvailable");
  const value = (one: Field, name: string): Amount => {
    const text = String(one.numberOrText());
    const [, percent] = /^(\d+)%$/.exec(text) ?? [];
    const count = percent === undefined ? Number(text) : Math.ceil((Number(percent) * replicas) / 100);
    return fromField(percent === undefined ? name : `${name} (${text})`, count, one);
  };
  if (most.exists) {
    const from = value(most, "maxUnavailable");
    return { allowed: Math.min(replicas, from.value), from, at: most };
  }
  if (!least.exists) return { allowed: replicas, from: undefined, at: spec };
  const from = value(least, "minAvailable");
  return { allowed: Math.max(0, replicas - from.value), from, at: least };
}

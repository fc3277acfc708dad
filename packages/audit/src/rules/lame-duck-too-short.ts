import { compare, reserve } from "../facts/arithmetic.ts";
import { answers } from "../facts/facts.ts";
import { holdOf } from "../facts/hold.ts";
import { convergenceOf } from "../facts/senders.ts";
import { exposureOf, servingContainers } from "../facts/serving.ts";
import { aloneRemedy, whyAlone } from "../facts/second-pod.ts";
import { fixOf, graceFor, quotedLike, setGrace } from "./edits.ts";
import { isAssumed, seconds } from "../model/amount.ts";
import { replaceScalar } from "@lameduck/manifests";
import type { Rule } from "../rule.ts";

export const lameDuckTooShort: Rule = {
  id: "lame-duck-too-short",
  title: "The pod stops serving before its senders stop sending to it",
  meaning: `After a deletion each sender (kube-proxy on each node, ingress proxies, load balancers) goes on sending to the pod until it has
received and applied the change. Until the slowest sender has done so, requests come to the pod. If the pod's hold is shorter, they are refused. How
long a sender takes depends on the cluster. The arithmetic names the sender that is assumed to be the slowest, and the origin of its number. Measure
yours by \`lameduck rollout --watch\`, and give the result by \`lameduck.dev/convergence\` or \`--assume convergence=...\`.`,
  remedy: "Hold for as long as the slowest sender takes, and raise the grace period by as much",
  references: [
    "https://kubernetes.io/docs/tutorials/services/pods-and-endpoint-termination-flow/",
    "https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/2366",
  ],
  symptom: { causes: ["C1", "C2"] },
  *check(workload, context) {
    if (exposureOf(workload) === "none") return;
    const slowest = convergenceOf(workload, context.facts);
    if (slowest === undefined) return;
    const { amount: needed, sender } = slowest;
    for (const container of servingContainers(workload)) {
      const hold = holdOf(workload, container, context.facts);
      const { hook } = container;
      const at = hook?.number ?? hook?.field ?? container.field;
      const who = sender
        ? `${sender.name} may take ${seconds(needed.value)} s`
        : `senders take ${seconds(needed.value)} s`;
      if (hold.kind === "evidence") {
        const cap = workload.grace.value - (hook?.isExact ? hook.least.value : 0) - 5;
        if (cap >= needed.value) continue;
        yield {
          severity: "warning",
          message: `Lameduck may hold for ${seconds(cap)} s at most, but ${who} to stop sending to a deleted pod`,
          at: workload.pod.at("terminationGracePeriodSeconds"),
          container: container.name,
          arithmetic: compare(
            [
              { name: "needed", value: needed.value, origin: needed.origin },
              { ...reserve, value: 5, origin: { kind: "default", of: "Lameduck's reserve" } },
            ],
            ">",
            workload.grace,
          ),
          remedy: `set terminationGracePeriodSeconds to ${Math.ceil(needed.value + 5 + (hook?.isExact ? hook.least.value : 0))} or more`,
        };
        continue;
      }
      if (hold.least >= needed.value || (hold.least === 0 && hold.kind === "fixed")) continue;
      if (hold.kind === "unknown") {
        yield {
          severity: "unknown",
          message: `whether the pod goes on serving for ${seconds(needed.value)} s after its deletion: the manifest does not say how long its hook or its delay takes`,
          at,
          container: container.name,
          arithmetic: compare(hold.parts, "?", needed),
          answers: answers("delay"),
        };
        continue;
      }
      const more = Math.ceil(needed.value - hold.least);
      const longer = (hook?.least.value ?? 0) + more;
      const grace = graceFor(workload, longer);
      const alone = whyAlone(workload);
      yield {
        severity: alone !== undefined ? "info" : isAssumed(needed) || sender ? "warning" : "error",
        message: `the pod stops serving ${seconds(hold.least)} s after its deletion, but ${who} to stop sending to it${alone === undefined ? "" : `; it is alone by design (${alone})`}`,
        at,
        container: container.name,
        arithmetic: compare(
          hold.parts,
          "<",
          sender?.sum ? { ...needed, name: `${needed.name} (${sender.sum})` } : needed,
        ),
        remedy:
          alone === undefined
            ? `hold for ${seconds(Math.ceil(needed.value))} s, with a grace period of ${seconds(grace)} s`
            : aloneRemedy,
        ...(hook?.number && alone === undefined && workload.grace.value > 0
          ? fixOf(
              `preStop ${seconds(hook.least.value)} -> ${longer}${grace === workload.grace.value ? "" : `, grace period ${workload.grace.value} -> ${grace}`}`,
              [
                replaceScalar(hook.number, quotedLike(hook.number, String(longer), context)),
                ...(grace === workload.grace.value ? [] : [setGrace(workload, grace, context)]),
              ],
            )
          : {}),
      };
    }
  },
};

import { compare } from "../facts/arithmetic.ts";
import { nodeCheckOf } from "../facts/senders.ts";
import { seconds, wholeOr } from "../model/amount.ts";
import type { Rule } from "../rule.ts";

export const externalTrafficLocal: Rule = {
  id: "external-traffic-local",
  title: "With externalTrafficPolicy: Local the load balancer learns of pods by checking nodes",
  meaning: `With \`Local\` a node answers the load balancer's health check only while it has a ready pod. When its last pod is deleted, the
check fails at once. The load balancer goes on sending for interval x failures, and only the terminating pod can answer. The opposite happens
to a new pod on another node: it gets nothing until that node's checks have passed. A faster rollout leaves the load balancer with nodes that
have no pod.`,
  remedy: "Set minReadySeconds to the time of the load balancer's checks, and hold for as long",
  references: [
    "https://kubernetes.io/docs/tutorials/services/source-ip/#source-ip-for-services-with-type-loadbalancer",
  ],
  *check(workload) {
    const { services, spec, object } = workload;
    if (!["Deployment", "StatefulSet", "Rollout"].includes(object.kind)) return;
    for (const { name, field } of services) {
      const policy = field.at("spec").at("externalTrafficPolicy");
      if (policy.text() !== "Local" || field.at("spec").at("type").text() === "ClusterIP") continue;
      const check = nodeCheckOf(field);
      const ready = wholeOr(spec.at("minReadySeconds"), 0, "minReadySeconds", 0);
      if (ready.value >= check.value) continue;
      yield {
        severity: "info",
        message: `the load balancer of ${name} may need ${seconds(check.value)} s to find a node with a new pod; the rollout goes on after ${seconds(ready.value)} s`,
        at: policy,
        arithmetic: compare([ready], "<", check),
        remedy: `set minReadySeconds to ${Math.ceil(check.value)}`,
      };
    }
  },
};

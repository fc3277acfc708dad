import { compare } from "../facts/arithmetic.ts";
import { factOf } from "../facts/facts.ts";
import { healthyAfter } from "../facts/health-checks.ts";
import { exposureOf, servingContainers } from "../facts/serving.ts";
import { seconds, wholeOr } from "../model/amount.ts";
import type { Container } from "../model/container.ts";
import { programOf } from "../model/shell/commands.ts";
import type { Rule } from "../rule.ts";

export const newPodsTooSoon: Rule = {
  id: "new-pods-too-soon",
  title: "A rollout goes on before new pods serve at full speed",
  meaning: `A Deployment stops an old pod as soon as a new one is ready. A ready pod may not serve at full speed yet: a JVM compiles for a while,
and a load balancer that checks pods or nodes itself sends nothing before its own checks have passed. With \`minReadySeconds\` a new pod counts as
available only after it has been ready for that time.`,
  remedy: "Set minReadySeconds to the time that a new pod needs after it is ready",
  references: [
    "https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#min-ready-seconds",
    "https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/deploy/pod_readiness_gate/",
  ],
  *check(workload, { facts, inventory }) {
    const { object, spec } = workload;
    if (
      !["Deployment", "StatefulSet", "DaemonSet", "Rollout"].includes(object.kind) ||
      exposureOf(workload) === "none"
    )
      return;
    const least = wholeOr(spec.at("minReadySeconds"), 0, "minReadySeconds", 0);
    const at = spec.at("minReadySeconds");
    const startUp = factOf(workload, "start-up", facts);
    const checked = healthyAfter(workload, inventory.objects);
    const needed = [startUp, checked].filter((one) => one !== undefined).sort((a, b) => b.value - a.value)[0];
    if (needed) {
      if (least.value >= needed.value) return;
      yield {
        severity: "warning",
        message: `the rollout goes on ${seconds(least.value)} s after a new pod is ready, which needs ${seconds(needed.value)} s (${needed.name})`,
        at: at.exists ? at : object.field.at("metadata").at("name"),
        arithmetic: compare([least], "<", needed),
        remedy: `set minReadySeconds to ${Math.ceil(needed.value)}${needed === checked ? ", or use the controller's pod readiness gates" : ""}`,
      };
    } else if (least.value === 0) {
      const slow = servingContainers(workload).find((container) => isSlow(container));
      if (slow)
        yield {
          severity: "info",
          message:
            "a JVM is slow in its first seconds, and minReadySeconds is 0: old pods go before new ones are up to speed",
          at: slow.field.at("name"),
          container: slow.name,
          remedy:
            "set minReadySeconds to the seconds that it needs, and declare them: lameduck.dev/start-up: 20s",
        };
    }
  },
};

function isSlow({ served, image = "" }: Container): boolean {
  return (
    programOf(served?.argv[0]) === "java" ||
    /(?:^|[/-])(?:tomcat|jetty|wildfly|keycloak|eclipse-temurin|openjdk)(?=[:@-]|$)/.test(image)
  );
}

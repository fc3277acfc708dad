import { exposureOf, servingContainers } from "../facts/serving.ts";
import type { Rule } from "../rule.ts";

export const noReadinessProbe: Rule = {
  id: "no-readiness-probe",
  title: "Without a readiness probe new pods get requests before they listen",
  meaning: `Without a readiness probe a pod counts as ready as soon as its containers run. Senders choose it before the server listens. A rollout
stops old pods although new ones do not serve yet. A pod that is alive but cannot serve stays in its Services.`,
  remedy: "Add a readiness probe that asks the server itself",
  references: [
    "https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/#readiness-probe",
  ],
  symptom: { causes: ["C7"] },
  *check(workload) {
    if (exposureOf(workload) !== "service") return;
    const gated = workload.pod.at("readinessGates").exists;
    for (const container of servingContainers(workload)) {
      // A startup probe at least says that it has begun to listen.
      if (container.readiness) continue;
      yield {
        severity: container.startup || gated ? "info" : "warning",
        message: container.startup
          ? "there is no readiness probe: nothing takes a pod that cannot serve out of its Services"
          : "there is no readiness probe: new pods get requests before they listen",
        at: container.field.at("name"),
        container: container.name,
      };
    }
  },
};

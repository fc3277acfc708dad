import { compare } from "../facts/arithmetic.ts";
import { factOf } from "../facts/facts.ts";
import { exposureOf, servingContainers } from "../facts/serving.ts";
import { seconds, type Amount } from "../model/amount.ts";
import type { Probe } from "../model/handler.ts";
import type { Rule } from "../rule.ts";

export const livenessBeforeReadiness: Rule = {
  id: "liveness-before-readiness",
  title: "A failing liveness probe restarts the container while requests still come to it",
  meaning: `A restart by a liveness probe deletes no pod, so it withdraws no endpoint. Only a failing readiness probe takes the pod out of its
Services. If liveness fails as soon as readiness or sooner, the kubelet runs the preStop hook and sends SIGTERM while every sender still chooses
the pod. No hold helps then. If the probe has a grace period of its own, the hook's time counts against that.`,
  remedy: "Let liveness fail later than readiness, by at least the time that senders take to stop sending",
  references: ["https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/"],
  *check(workload, { facts }) {
    if (exposureOf(workload) === "none") return;
    for (const container of servingContainers(workload)) {
      const { liveness, readiness, startup, hook } = container;
      const base = { container: container.name };
      if (liveness && readiness) {
        const [dead, unready] = [failing("liveness", liveness), failing("readiness", readiness)];
        if (dead.value <= unready.value)
          yield {
            ...base,
            severity: "warning",
            at: liveness.whole,
            message: `liveness fails after ${seconds(dead.value)} s, no later than readiness after ${seconds(unready.value)} s: the container is restarted while requests still come`,
            arithmetic: compare([dead], "<=", unready),
            remedy: `raise the liveness probe's failureThreshold to ${Math.ceil((unready.value + 10) / liveness.period.value)} or more`,
          };
      }
      if (liveness?.grace && hook && hook.least.value >= liveness.grace.value && hook.least.value > 0)
        yield {
          ...base,
          severity: "warning",
          at: liveness.whole.at("terminationGracePeriodSeconds"),
          message: `after a failed liveness probe the preStop hook takes the whole of the probe's own grace period of ${seconds(liveness.grace.value)} s`,
          arithmetic: compare([hook.least], ">=", liveness.grace),
        };
      const startUp = startup && factOf(workload, "start-up", facts);
      if (startUp) {
        const allowed = failing("startup probe", startup);
        if (startUp.value > allowed.value)
          yield {
            ...base,
            severity: "error",
            at: startup.whole,
            message: `the startup probe gives up after ${seconds(allowed.value)} s, before the container is up after ${seconds(startUp.value)} s`,
            arithmetic: compare([startUp], ">", allowed),
            remedy: `raise its failureThreshold to ${Math.ceil(startUp.value / startup.period.value) + 1} or more`,
          };
      }
    }
  },
};

/** Until the kubelet restarts the container: from the first failure, and with a startup probe from the start. */
function failing(name: string, { initialDelay, period, failures, whole }: Probe): Amount {
  const delay = name === "startup probe" ? initialDelay.value : 0;
  return {
    name: `${name} (${failures.value} x ${period.value})`,
    value: delay + failures.value * period.value,
    origin: { kind: "field", path: whole.path, place: whole.place },
  };
}

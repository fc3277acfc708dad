import { compare } from "../facts/arithmetic.ts";
import { exposureOf, servingContainers } from "../facts/serving.ts";
import { isSameHandler, type Probe } from "../model/handler.ts";
import type { Amount } from "../model/amount.ts";
import type { Rule } from "../rule.ts";

export const probesAskTheSame: Rule = {
  id: "probes-ask-the-same",
  title: "Readiness and liveness ask the same and fail at the same time",
  meaning: `If both probes ask the same and fail at the same time, an overloaded pod is restarted when it only needs a pause from new requests. Its
load then falls on the others. The same question is no problem if liveness fails much later than readiness: this rule compares thresholds, not only
paths.`,
  remedy: "Let liveness ask something else, or give it a failureThreshold several times that of readiness",
  references: ["https://github.com/zegl/kube-score/blob/master/README_PROBES.md"],
  *check(workload) {
    if (exposureOf(workload) === "none") return;
    for (const { name, liveness, readiness } of servingContainers(workload)) {
      if (!liveness || !readiness || !isSameHandler(liveness, readiness)) continue;
      const [dead, unready] = [failing("liveness", liveness), failing("readiness", readiness)];
      // A shorter one is the matter of liveness-before-readiness.
      if (dead.value <= unready.value || dead.value >= 2 * unready.value) continue;
      yield {
        severity: "info",
        message:
          "both probes ask the same, and liveness gives up soon after readiness: overload becomes a restart",
        at: liveness.whole,
        container: name,
        arithmetic: compare([dead], "< 2 x", unready),
      };
    }
  },
};

function failing(name: string, { period, failures, whole }: Probe): Amount {
  const value = period.value * failures.value;
  return { name, value, origin: { kind: "field", path: whole.path, place: whole.place } };
}

import type { Field } from "@lameduck/manifests";
import { compare, reserve, spellSum, sumOf, usualDrain } from "../facts/arithmetic.ts";
import { answers, factOf } from "../facts/facts.ts";
import { holdOf } from "../facts/hold.ts";
import { exposureOf, servingContainers } from "../facts/serving.ts";
import { drainSetting } from "../facts/settings.ts";
import type { Report } from "../finding.ts";
import { fixOf, setGrace } from "../fix/edits.ts";
import { seconds } from "../model/amount.ts";
import type { Rule } from "../rule.ts";

export const graceTooShort: Rule = {
  id: "grace-too-short",
  title: "Hook, drain and reserve do not fit into the grace period",
  meaning: `A pod has \`terminationGracePeriodSeconds\` for everything: the preStop hook, a delay of the app itself, the time in which the app
finishes its requests, and a moment to exit. SIGKILL cuts whatever does not fit: the longest requests, and whatever the app does last.`,
  remedy: "Raise terminationGracePeriodSeconds, or shorten the hook or the longest request",
  references: ["https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination"],
  *check(workload, context) {
    const { grace } = workload;
    for (const container of servingContainers(workload)) {
      const hold = holdOf(workload, container, context.facts);
      // Another rule's.
      if (container.hook && container.hook.least.value >= grace.value && container.hook.least.value > 0)
        continue;
      // Lameduck takes from the grace period what is left of it, and keeps its own reserve.
      if (hold.kind === "evidence") continue;
      const given = factOf(workload, "drain", context.facts);
      const setting = given ? undefined : drainSetting(container);
      const drain = given ?? setting?.amount;
      const parts = [...hold.parts, ...(drain ? [{ ...drain, name: "drain" }] : [])];
      const total = sumOf(parts);
      const at = workload.pod.at("terminationGracePeriodSeconds");
      if (drain === undefined && hold.parts.length === 0) {
        if (exposureOf(workload) !== "none") yield unknown(workload, container.name, at, grace.value);
        continue;
      }
      const withReserve = [...parts, reserve];
      if (total + reserve.value <= grace.value) {
        if (drain === undefined) yield unknown(workload, container.name, at, grace.value - total);
        continue;
      }
      const wanted = drain ? withReserve : [...parts, usualDrain, reserve];
      const needed = Math.ceil(sumOf(wanted));
      const isCertain = drain !== undefined && given !== undefined && total > grace.value;
      yield {
        severity: isCertain ? "error" : "warning",
        message:
          drain === undefined
            ? `the hold of ${seconds(total)} s leaves ${seconds(grace.value - total)} s of the grace period of ${seconds(grace.value)} s to finish requests and exit`
            : `hold, drain and reserve need ${seconds(sumOf(withReserve))} s; the grace period is ${seconds(grace.value)} s`,
        at: at.exists ? at : (container.hook?.field ?? at),
        container: container.name,
        arithmetic: compare(withReserve, ">", grace),
        remedy: `set terminationGracePeriodSeconds to ${needed}${drain ? "" : ` (${spellSum(wanted)})`}`,
        ...fixOf(`grace period ${grace.value} -> ${needed}`, [setGrace(workload, needed, context)]),
      };
    }
  },
};

function unknown({ pod }: { readonly pod: Field }, container: string, at: Field, left: number): Report {
  return {
    severity: "unknown",
    message: `whether the longest request fits into the ${seconds(left)} s that are left of the grace period`,
    at: at.exists ? at : pod,
    container,
    answers: answers("drain"),
  };
}

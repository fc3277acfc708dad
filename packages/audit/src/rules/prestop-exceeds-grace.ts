import type { Field } from "@lameduck/manifests";
import { compare, reserve, spellSum, sumOf, usualDrain } from "../facts/arithmetic.ts";
import { factOf } from "../facts/facts.ts";
import { fixOf, setGrace } from "./edits.ts";
import { seconds } from "../model/amount.ts";
import type { Rule } from "../rule.ts";

export const prestopExceedsGrace: Rule = {
  id: "prestop-exceeds-grace",
  title: "The preStop hook takes the whole grace period or more",
  meaning: `The time of a preStop hook counts against \`terminationGracePeriodSeconds\`. If the grace period ends while the hook still runs, the
kubelet sends SIGTERM, and SIGKILL 2 seconds later. The rest of the hook never runs, and requests in flight are cut. The API server refuses a
\`sleep\` hook that is longer than the grace period. It accepts one of equal length, and does not check \`exec\` hooks.`,
  remedy: "Make the grace period at least the hook + the longest request + a reserve of 2 s",
  references: [
    "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination",
    "https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/",
  ],
  symptom: { causes: ["C4", "C5"], killed: true },
  *check(workload, context) {
    const { grace } = workload;
    // Whatever the hook takes: the matter of grace-too-short.
    if (grace.value === 0) return;
    for (const container of [...workload.containers, ...workload.sidecars]) {
      const { hook } = container;
      if (hook === undefined || hook.least.value < grace.value || hook.least.value === 0) continue;
      const drain = factOf(workload, "drain", context.facts) ?? usualDrain;
      const parts = [hook.least, { ...drain, name: "drain" }, reserve];
      const needed = Math.ceil(sumOf(parts));
      const equal = hook.least.value === grace.value;
      const takes = Number.isFinite(needed)
        ? `takes ${seconds(hook.least.value)} s${hook.isExact ? "" : " or more"}, ${equal ? "all of" : "longer than"}`
        : "never ends: it takes all of";
      yield {
        severity: "error",
        message: `the preStop hook ${takes} the grace period of ${seconds(grace.value)} s`,
        at: hook.least.origin.kind === "field" ? (hook.number ?? hookWord(hook)) : hook.field,
        container: container.name,
        arithmetic: compare([hook.least], equal ? "=" : ">", grace),
        ...(Number.isFinite(needed)
          ? {
              remedy: `set terminationGracePeriodSeconds to ${needed} (${spellSum(parts)}), or shorten the hook`,
              ...fixOf(`grace period ${grace.value} -> ${needed}`, [setGrace(workload, needed, context)]),
            }
          : { remedy: "let the hook end by itself" }),
      };
    }
  },
};

function hookWord({ field }: { readonly field: Field }): Field {
  const words = field.at("command").items();
  return words.find((word) => /\bsleep\b/.test(word.text() ?? "")) ?? field;
}

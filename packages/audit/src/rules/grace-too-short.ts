import type { Field } from "@lameduck/manifests";
import { compare, reserve, spellSum, sumOf, usualDrain } from "../facts/arithmetic.ts";
import { answers, factOf } from "../facts/facts.ts";
import { holdOf, type Hold } from "../facts/hold.ts";
import { ownReserveOf, ownStopOf } from "../facts/lameduck.ts";
import { convergenceOf } from "../facts/senders.ts";
import { exposureOf, servingContainers } from "../facts/serving.ts";
import { drainSetting } from "../facts/settings.ts";
import type { RuleFinding } from "../finding.ts";
import { fixOf, setGrace } from "./edits.ts";
import { seconds } from "../model/amount.ts";
import type { Container } from "../model/container.ts";
import type { Workload } from "../model/workload.ts";
import type { Context, Rule } from "../rule.ts";

export const graceTooShort: Rule = {
  id: "grace-too-short",
  title: "Hook, drain and reserve do not fit into the grace period",
  meaning: `A pod has \`terminationGracePeriodSeconds\` for everything: the preStop hook, a delay of the app itself, the time in which the app
finishes its requests, and a moment to exit. SIGKILL cuts whatever does not fit: the longest requests, and whatever the app does last.`,
  remedy: "Raise terminationGracePeriodSeconds, or shorten the hook or the longest request",
  references: ["https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination"],
  symptom: { causes: ["C4", "C5"], killed: true },
  *check(workload, context) {
    const { grace } = workload;
    if (grace.value === 0) {
      yield* killedAtOnce(workload, context);
      return;
    }
    for (const container of servingContainers(workload)) {
      const hold = holdOf(workload, container, context.facts);
      // Another rule's.
      if (container.hook && container.hook.least.value >= grace.value && container.hook.least.value > 0) {
        if (factOf(workload, "drain", context.facts) === undefined && drainSetting(container) === undefined)
          yield unknown(workload, container.name, workload.pod.at("terminationGracePeriodSeconds"), 0);
        continue;
      }
      // Lameduck takes from the grace period what is left of it, and keeps its own reserve.
      if (hold.kind === "evidence") {
        yield* longAnswers(workload, container, hold, context);
        continue;
      }
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

/**
 * Lameduck waits for answers in flight, up to its cap. Where somebody has said how long they take, such as half an hour for those of a language model,
 * the grace period that they need can be told: the last of them begins just before the senders have converged.
 */
function* longAnswers(
  workload: Workload,
  container: Container,
  hold: Hold,
  { facts }: Context,
): Iterable<RuleFinding> {
  const own = ownStopOf(container);
  const drain = factOf(workload, "drain", facts);
  if (drain === undefined || own === undefined || own.by === "wait hook") return;
  const { grace, pod } = workload;
  const convergence = convergenceOf(workload, facts)?.amount;
  const kept = ownReserveOf(container, grace.value);
  const parts = [...hold.parts, ...(convergence ? [convergence] : []), drain, kept];
  const needed = Math.ceil(sumOf(parts));
  if (needed <= grace.value) return;
  const at = pod.at("terminationGracePeriodSeconds");
  yield {
    severity: "warning",
    message: `answers that take ${seconds(drain.value)} s need a grace period of ${needed} s; it is ${seconds(grace.value)} s, and what is longer is cut`,
    at: at.exists ? at : container.field.at("name"),
    container: container.name,
    arithmetic: compare(parts, ">", grace),
    remedy: `set terminationGracePeriodSeconds and LAMEDUCK_GRACE_PERIOD to ${needed} (${spellSum(parts)})`,
  };
}

/** Kubernetes' own default is no harm to any hook that is shorter. */
function* killedAtOnce(workload: Workload, context: Context): Iterable<RuleFinding> {
  const { containers, sidecars, pod } = workload;
  const hooks = [...containers, ...sidecars].flatMap(({ hook }) => hook ?? []);
  if (hooks.length === 0 && exposureOf(workload) === "none") return;
  const drain = factOf(workload, "drain", context.facts) ?? usualDrain;
  const longest = hooks.reduce((most, { least }) => Math.max(most, least.value), 0);
  const needed = Math.ceil(longest + drain.value + reserve.value);
  yield {
    severity: "error",
    message: `a grace period of 0 s kills the pod at once: ${hooks.length > 0 ? "its preStop hook" : "its shutdown"} gets no time${exposureOf(workload) === "none" ? "" : ", and requests in flight are cut"}`,
    at: pod.at("terminationGracePeriodSeconds"),
    ...(Number.isFinite(needed)
      ? {
          remedy: `set terminationGracePeriodSeconds to ${needed}`,
          ...fixOf(`grace period 0 -> ${needed}`, [setGrace(workload, needed, context)]),
        }
      : { remedy: "let the hook end by itself, and set a grace period" }),
  };
  for (const { name } of servingContainers(workload))
    if (exposureOf(workload) !== "none" && factOf(workload, "drain", context.facts) === undefined)
      yield unknown(workload, name, pod.at("terminationGracePeriodSeconds"), 0);
}

function unknown({ pod }: { readonly pod: Field }, container: string, at: Field, left: number): RuleFinding {
  return {
    severity: "unknown",
    message:
      left > 0
        ? `whether the longest request fits into the ${seconds(left)} s that are left of the grace period`
        : "how long the longest request takes: nothing is left of the grace period for it",
    at: at.exists ? at : pod,
    container,
    answers: answers("drain"),
  };
}

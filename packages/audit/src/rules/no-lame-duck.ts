import { compare } from "../facts/arithmetic.ts";
import { companionsOf } from "../facts/companions.ts";
import { annotation } from "../facts/facts.ts";
import { holdOf } from "../facts/hold.ts";
import { ownStopOf } from "../facts/lameduck.ts";
import { whyListens } from "../facts/listening.ts";
import { convergenceOf } from "../facts/senders.ts";
import { exposureOf, servingContainers } from "../facts/serving.ts";
import { aloneRemedy, whyAlone } from "../facts/second-pod.ts";
import type { Fix, RuleFinding } from "../finding.ts";
import { addSleep, fixOf, graceFor, hasNativeSleep, setGrace } from "./edits.ts";
import { seconds } from "../model/amount.ts";
import type { Container } from "../model/container.ts";
import { endsByItself } from "../model/object.ts";
import type { Workload } from "../model/workload.ts";
import type { Context, Rule } from "../rule.ts";

export const noLameDuck: Rule = {
  id: "no-lame-duck",
  title: "Nothing keeps the pod serving until its senders stop sending to it",
  meaning: `A deletion starts two chains, and nothing synchronises them. The kubelet stops the container. Every sender learns that the pod
terminates, each at its own time. A server that stops at SIGTERM refuses the requests of late senders, however gracefully it finishes the others.
Something must keep it serving: a preStop hook, a delay in the app, or Lameduck, which waits for as long as the evidence requires.

The audit sees hooks, arguments and variables. If the app's code delays the shutdown, declare the delay: \`lameduck.dev/delay: 15s\`.`,
  remedy:
    "Add a preStop hook that sleeps, with a grace period that is longer by as much; or use lameduck-init or @lameduck/node",
  references: [
    "https://kubernetes.io/docs/tutorials/services/pods-and-endpoint-termination-flow/",
    "https://github.com/kubernetes/enhancements/tree/master/keps/sig-node/3960-pod-lifecycle-sleep-action",
  ],
  symptom: { causes: ["C1", "C2"] },
  *check(workload, context) {
    if (exposureOf(workload) === "none") {
      yield* ifItListens(workload);
      return;
    }
    const slowest = convergenceOf(workload, context.facts);
    for (const container of servingContainers(workload)) {
      const hold = holdOf(workload, container, context.facts);
      if (hold.least > 0 || hold.kind !== "fixed") continue;
      // It goes on serving until SIGKILL, because SIGTERM never comes to it.
      const pidOne = container.served?.pidOne;
      if (workload.windows === undefined && pidOne?.certainty === "certain" && pidOne.behind === undefined)
        continue;
      const needed = slowest?.amount;
      if (needed?.value === 0) continue;
      const hook = container.hook;
      const stopsFirst = hook !== undefined && (hook.least.value > hook.serving.value || !hook.isExact);
      const longer = needed && Math.ceil(needed.value);
      const alone = whyAlone(workload);
      const mayFix = hook === undefined && alone === undefined && workload.grace.value > 0;
      yield {
        severity: alone === undefined ? "warning" : "info",
        message: `${hook === undefined ? "there is no preStop hook" : stopsFirst ? "the preStop hook stops the server before it waits" : "the preStop hook takes no time"}, and nothing says that the app goes on serving after SIGTERM${alone === undefined ? "" : `; the pod is alone by design (${alone}), so that no other could take its requests meanwhile`}`,
        at: hook?.field ?? container.field.at("name"),
        container: container.name,
        ...(needed ? { arithmetic: compare([], "<", needed) } : {}),
        remedy:
          alone === undefined
            ? `hold for ${longer === undefined ? "as long as senders take" : `${seconds(longer)} s`}: preStop: ${hasNativeSleep(context) ? `{ sleep: { seconds: ${longer ?? "N"} } }` : `{ exec: { command: [sleep, "${longer ?? "N"}"] } }`}, and as much more grace period`
            : aloneRemedy,
        ...(mayFix && longer !== undefined ? holdBy(longer, workload, container, context) : {}),
      };
    }
  },
};

/** No Service, and no port that is declared: the Service may be elsewhere all the same. */
function* ifItListens(workload: Workload): Iterable<RuleFinding> {
  if (annotation(workload, "serves").exists || endsByItself(workload.object.kind)) return;
  const listens = whyListens(workload);
  if (listens === undefined) return;
  yield {
    severity: "unknown",
    message: `does it take requests? It declares no port for them, but ${listens.because}`,
    at: listens.container.field.at("name"),
    container: listens.container.name,
    answers: [
      "declare its containerPort",
      'annotation lameduck.dev/serves: "true" or "false"',
      "give its Service too",
    ],
  };
}

/** One sleep for the container and for what it needs beside it: one that stops before the other is a fault of its own. */
function holdBy(
  seconds: number,
  workload: Workload,
  container: Container,
  context: Context,
): { readonly fix?: Fix } {
  const serving = servingContainers(workload);
  const others = companionsOf(workload, serving).filter((one) => one.hook === undefined && !ownStopOf(one));
  const held = [container, ...others.filter((one) => holdOf(workload, one, context.facts).least < seconds)];
  const grace = graceFor(workload, seconds);
  const names = held.length === 1 ? "" : ` in ${held.map(({ name }) => name).join(" and ")}`;
  return fixOf(
    `preStop sleep ${seconds}${names}${grace === workload.grace.value ? "" : `, grace period ${workload.grace.value} -> ${grace}`}`,
    [
      ...held.map((one) => addSleep(one, seconds, context)),
      ...(grace === workload.grace.value ? [] : [setGrace(workload, grace, context)]),
    ],
  );
}

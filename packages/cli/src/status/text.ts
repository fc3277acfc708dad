import { injectLabel, operatorNames } from "@lameduck/protocol";
import { injectLabelValue } from "@lameduck/inject";
import { printable } from "@lameduck/drain/common";
import { count } from "@lameduck/accounting/words";
import { acknowledgementLines } from "./coordinator.ts";
import { terminatingLines } from "./terminating.ts";
import { trialText } from "../install/trial.ts";
import { savableText, savedText } from "../report/saved.ts";
import { timesText, workloadGroups } from "../cluster/held.ts";
import type { JudgedPod } from "./judge.ts";
import type { NamespaceStatus, Status } from "./read.ts";

/** Kubernetes' own, and what the cluster autoscaler waits for at most (--max-graceful-termination-sec). */
const usualGraceSeconds = 30;
const autoscalerLimitSeconds = 600;
/** Pods that terminate, by line. */
const mostPods = 100;

/** What a person reads. */
export function statusText(status: Status): string {
  return [...lines(status)].map((line) => `${line}\n`).join("");
}

function* lines(status: Status): Generator<string> {
  const { operator, webhook, policy, trials, namespaces, mislabelled, helm, command } = status;
  if (status.isOfTenant)
    yield `only namespace ${status.namespace} is looked at: Lameduck is not installed in it (status without -n shows the cluster)`;
  else if (operator === undefined && !policy) yield "not installed: lameduck install";
  if (operator) {
    yield `webhook ${operator.version} in ${status.namespace}: ${operator.ready} of ${count(operator.wanted, "replica")} ready`;
    for (const trouble of operator.trouble) yield `  ${printable(trouble)}`;
    if (operator.former.length > 0) yield `  in force meanwhile: ${operator.former.join(", ")}`;
  }
  if (operator && webhook !== "called")
    yield `  the API server does not call it: its configuration ${webhook ? "names no authority yet" : "is missing"}`;
  if (policy) yield "policy: a MutatingAdmissionPolicy in the API server, nothing runs";
  for (const trial of trials) yield `  ${trialText(trial)}`;
  if (helm) yield `  installed by Helm, release ${helm}`;
  if (operator && operator.version !== command)
    yield `  this command is ${command}; versions one apart work together (docs/operate/upgrade.md)`;
  if (status.acknowledgements) yield* acknowledgementLines(status.acknowledgements, status.namespace);
  if (namespaces.length === 0) yield "no namespace is labelled lameduck.dev/inject=enabled";
  for (const { name, value } of mislabelled)
    yield `namespace ${name}: labelled ${injectLabel}=${value}, which nobody reads; ${injectLabelValue} switches it on`;
  const isTold = status.acknowledgements?.isTold === true;
  for (const one of namespaces) {
    yield* namespaceLines(one);
    if (isTold) yield* untoldLines(one);
  }
  yield* graceLines(namespaces.flatMap(({ pods }) => pods));
  if (status.terminating)
    yield* terminatingLines(
      status.terminating.slice(0, mostPods),
      Math.max(0, status.terminating.length - mostPods),
    );
}

const initVolumeTexts = {
  missing: "is not there yet: wait for the operator, or lameduck install --policy-only",
  foreign: "is somebody else's and holds no lameduck-init of this processor: give it another name",
  changed: "was changed since Lameduck wrote it; the operator puts it right within a minute",
} as const;

function* namespaceLines({
  name,
  isEnabled,
  pods,
  initVolume,
  initVolumeNews,
  losing,
  formerSleeps,
  savable,
  policy,
  held,
}: NamespaceStatus): Generator<string> {
  if (!isEnabled)
    yield `namespace ${name}: not labelled ${injectLabel}=${injectLabelValue}, so that nothing is injected`;
  const injected = pods.filter(({ version }) => version !== undefined);
  yield `namespace ${name}: ${injected.length} of ${count(pods.length, "pod")} with Lameduck${versionsOf(injected)}`;
  for (const problem of policy) yield `  DrainPolicy: ${printable(problem)}`;
  if (losing !== undefined) yield `  will lose requests: ${printable(losing)}`;
  if (initVolume !== "usable" && isEnabled)
    yield `  hooks of injected pods may do nothing: ConfigMap ${operatorNames.initConfigMap} ${initVolumeTexts[initVolume]}`;
  if (initVolumeNews !== undefined) yield `  ${printable(initVolumeNews)}`;
  if (formerSleeps) yield* sleepLines(formerSleeps);
  if (savable) yield savableLine(savable);
  yield* workloadGroups(
    held.filter(({ isInjected }) => isInjected),
    timesText,
  );
  const others = pods.filter(({ version }) => version === undefined);
  for (const [workload, own] of Map.groupBy(others, (pod) => pod.workload)) {
    for (const [why, alike] of Map.groupBy(own, (pod) => pod.why))
      yield `  ${workload}: ${alike.length} without: ${why}`;
    if (own.some(({ isOlder }) => isOlder)) yield `    kubectl rollout restart ${workload} -n ${name}`;
  }
}

/** How much time a day of deploys took less than with the sleeps that were there. */
function* sleepLines({ pods, lately }: NonNullable<NamespaceStatus["formerSleeps"]>): Generator<string> {
  const unknown = "how much time that saves is not known:";
  if (lately === undefined)
    yield `  sleeps were replaced in ${count(pods, "pod")}; ${unknown} there are no records that may be read (lameduck install --acknowledgements)`;
  else if (lately.terminations === 0)
    yield `  sleeps were replaced in ${count(pods, "pod")}; ${unknown} no such pod has reported its end in the last 24h`;
  else
    yield `  in the last 24h ${savedText(lately)}${lately.unknown > 0 ? `; of ${lately.unknown} more it is not known` : ""}`;
}

/** How much time a day of deploys would have taken less with holds in place of the sleeps. */
function savableLine(savable: NonNullable<NamespaceStatus["savable"]>): string {
  const { terminations, unknown } = savable;
  if (terminations === 0)
    return `  in the last 24h ${count(unknown, "pod")} slept at the end; whether holds would have saved time is not known: nobody knows when their senders stopped sending`;
  return `  in the last 24h ${savableText(savable)}${unknown > 0 ? `; of ${unknown} more it is not known` : ""}`;
}

/** They decide by their own evidence, and report nothing. */
function* untoldLines({ name, pods }: NamespaceStatus): Generator<string> {
  const untold = pods.filter(({ asksNobody }) => asksNobody);
  for (const [workload, own] of Map.groupBy(untold, (pod) => pod.workload)) {
    yield `  ${workload}: ${own.length} made before acknowledgements were on: no coordinator is asked`;
    yield `    kubectl rollout restart ${workload} -n ${name}`;
  }
}

function versionsOf(injected: readonly JudgedPod[]): string {
  const versions = [...new Set(injected.flatMap(({ version = [] }) => version))].sort();
  return versions.length === 0 ? "" : ` (${versions.join(", ")})`;
}

/** A longer grace period is paid for when nodes are drained and workloads scaled down. */
function* graceLines(pods: readonly JudgedPod[]): Generator<string> {
  const long = pods.filter(
    ({ version, graceSeconds }) => version !== undefined && graceSeconds > usualGraceSeconds,
  );
  if (long.length === 0) return;
  const longest = Math.max(...long.map(({ graceSeconds }) => graceSeconds));
  yield `grace periods: ${count(long.length, "injected pod")} with more than ${usualGraceSeconds} s, ${longest} s at most`;
  yield `  a drain of a node, and each step of scaling down, may take that long where traffic does not go; usually it goes sooner`;
  if (longest > autoscalerLimitSeconds)
    yield `  the cluster autoscaler ends pods after ${autoscalerLimitSeconds} s unless --max-graceful-termination-sec says more`;
}

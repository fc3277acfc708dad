import { printable } from "@lameduck/drain/common";
import { count as plural, whole } from "@lameduck/accounting/words";
import { oldestKubernetes } from "@lameduck/protocol";
import { untried } from "../cluster/beside.ts";
import { isOfBalancer } from "@lameduck/senders";
import { timesText, workloadGroups } from "../cluster/held.ts";
import type { CheckReport } from "./report.ts";

/** Entries of each list that are printed; --json has all of them. */
const most = 20;

/** What a person reads who has never met Lameduck. */
export function checkText(report: CheckReport): string {
  return [...lines(report)].map((line) => `${line}\n`).join("");
}

function* lines(report: CheckReport): Generator<string> {
  const { cluster, isInstalled } = report;
  yield "Lameduck keeps a terminating pod serving until the senders of its requests have stopped sending.";
  yield "What it would do in this cluster; nothing was changed.";
  yield "";
  yield `cluster: context ${cluster.context}, ${cluster.server}, Kubernetes ${cluster.kubernetes ?? "of a version that is not known"}`;
  if (cluster.kubernetes !== null)
    yield `  the webhook needs 1.${oldestKubernetes.webhook}; a policy in the API server, with which nothing runs, 1.${oldestKubernetes.policy} (--policy-only: it does not see who sends)`;
  if (isInstalled) yield "  Lameduck is installed here already: lameduck status says how it is";
  yield* nodeLines(report);
  yield* assumedLines(report);
  yield* askedLines(report);
  yield* workloadLines(report);
  yield* autoscalerLines(report);
  yield* admissionLines(report);
  yield* notKnownLines(report);
  yield "";
  const { command, because } = report.install;
  yield command === null ? "Lameduck cannot be installed here:" : "to install it here:";
  for (const one of because) yield `  ${one}`;
  if (command !== null) yield `  ${command}`;
}

function* nodeLines({ nodes, watcher, nodeProxies, shortNotices }: CheckReport): Generator<string> {
  yield "";
  if (nodes === null) {
    yield "nodes: not known";
    return;
  }
  yield `nodes: ${nodes.reduce((sum, one) => sum + one.nodes, 0)}. With acknowledgements a watcher on each tells when the node has stopped sending to a pod`;
  for (const { environment, nodes: count, noWatcher, follows, examples } of nodes) {
    yield `  ${plural(count, "node")} (${environment}): ${noWatcher === undefined ? "a watcher can run" : `no watcher can run as shipped: ${noWatcher} (${examples.join(", ")}${count > examples.length ? ", ..." : ""})`}`;
    if (follows !== undefined) yield `    ${follows}`;
  }
  const { verdict, because } = watcher;
  yield `  a watcher's pod, as a dry run in namespace default: ${verdict}${because === undefined ? "" : `: ${printable(because)}`}`;
  if (nodeProxies === null) yield "  what chooses pods on them: not known";
  for (const { who, nodes: count, reader } of nodeProxies ?? [])
    yield who === undefined
      ? `  what chooses pods on ${plural(count, "node")}: not known, no pod shows it; usually kube-proxy, whose rules a watcher finds where one can run`
      : `  ${printable(who)} chooses pods on ${plural(count, "node")}: ${reader === undefined ? "nothing of Lameduck's can ask it" : `a watcher reads it (${reader})`}`;
  for (const { what, nodes: count, seconds, source } of shortNotices ?? [])
    yield `  ${count} ${what}: a pod has ${seconds} s when its node is reclaimed, whatever its grace period (${source})`;
}

function* assumedLines({ assumed }: CheckReport): Generator<string> {
  yield "";
  if (assumed === null) {
    yield "how long senders go on choosing a pod that is deleted: not known";
    return;
  }
  yield "how long senders go on choosing a pod that is deleted, as it is assumed; the cap is the longest that a pod is held,";
  yield "and its grace period grows by it (figures for a pod of 30 s, where this is its slowest sender):";
  for (const { name, objects, seconds, source, cap, grace } of assumed.slice(0, most))
    yield `  ${printable(name)}: ${seconds} s (${printable(source)}); cap ${cap} s, grace ${grace} s; shown by ${plural(objects, "object")}`;
  if (assumed.length === 0) yield "  no Service and no route is there";
}

function* askedLines({ asked, services, proxies }: CheckReport): Generator<string> {
  yield "";
  if (services === null) yield "senders besides nodes, with acknowledgements: not known";
  else if (asked.length === 0 && !services.isLeast)
    yield `senders besides nodes: none is seen. With acknowledgements the nodes' watchers answer for all of ${plural(services.services, "Service")}`;
  else {
    const { services: all, incomplete, incompleteWithPatches, isLeast } = services;
    const least = isLeast ? "at least " : "";
    yield "senders besides nodes, which must be asked, too, where acknowledgements are on. Where nobody asks one, the pods that";
    yield "it may choose are `incomplete`: they decide by their own evidence, as without acknowledgements";
    yield `  \`incomplete\` would be the pods of ${least}${plural(incomplete, "Service")} (of ${whole(all)})`;
    if (incompleteWithPatches < incomplete)
      yield `  and of ${least}${incompleteWithPatches}, with watchers beside the proxies below`;
  }
  for (const { need, who, shownBy, services: count, reader, convergence } of asked.slice(0, most)) {
    const shown = shownBy === undefined ? "" : `, shown by ${printable(shownBy)}`;
    yield `  ${printable(need)}: ${printable(who)}${shown}: ${plural(count, "Service")}`;
    yield `    ${howToAsk(need, reader)}; its time to stop sending: ${convergence ?? "nothing is known of it"}`;
  }
  if (asked.length > most) yield `  and ${asked.length - most} more`;
  for (const { who, namespace, workload, serves, needs, patch, isThere, isUntried } of proxies) {
    if (isThere) {
      yield `  ${who} (${namespace}/${workload}): a watcher stands beside it already`;
      continue;
    }
    yield `  ${who} (${namespace}/${workload}): to have it asked, patch it: kubectl patch ${workload} -n ${namespace} --patch-file FILE, with`;
    if (needs !== undefined) yield `    (${needs})`;
    if (isUntried) yield `    (${untried})`;
    if (serves.length === 0) yield "    (no class names its controller: add --serves=ingress-class/NAME)";
    for (const line of patch.trimEnd().split("\n")) yield `      ${line}`;
  }
}

function* workloadLines({ workloads, namespaces }: CheckReport): Generator<string> {
  yield "";
  if (workloads === null || namespaces === null) {
    yield "what pods would get: not known";
    return;
  }
  const held = workloads.filter(({ cap, isInjected }) => cap !== undefined && !isInjected);
  yield `what pods would get: ${held.length} of ${plural(workloads.length, "workload")} would be held, in ${plural(namespaces.length, "namespace")}`;
  yield* workloadGroups(held, timesText);
  const injected = workloads.filter(({ isInjected }) => isInjected);
  if (injected.length > 0) yield `  injected already: ${plural(injected.length, "workload")}`;
  const left = workloads.filter(({ leftAlone }) => leftAlone !== undefined);
  yield* workloadGroups(left, ({ leftAlone = "" }) => `left alone: ${leftAlone}`);
}

function* autoscalerLines({ autoscalers, nodes, workloads, shortNotices }: CheckReport): Generator<string> {
  const graces = (workloads ?? []).map(({ grace }) => grace?.seconds ?? 0);
  const longest = Math.max(0, ...graces);
  const caps = Math.max(0, ...(workloads ?? []).map(({ cap }) => cap?.seconds ?? 0));
  yield "";
  yield `what ends nodes${longest > 0 ? `; the longest grace period would be ${longest} s` : ""}:`;
  for (const { who, seconds, source } of autoscalers) {
    const waits =
      seconds === undefined
        ? "waits as long as pods take"
        : seconds === 0
          ? "leaves pods no time"
          : `gives pods ${seconds} s at most`;
    const isShort = seconds !== undefined && seconds > 0 && seconds < longest;
    const follows = isShort ? "; less than that: there pods may be killed before their hold is over" : "";
    yield `  ${printable(who)}: ${waits} (${printable(source)})${follows}`;
  }
  for (const { what, seconds } of shortNotices ?? [])
    if (seconds < caps)
      yield `  ${what}: ${seconds} s, less than the longest cap of ${caps} s: lower capSeconds for what runs there`;
  if (autoscalers.length > 0) return;
  yield nodes === null || workloads === null
    ? "  not known"
    : "  nothing is seen here that ends nodes by itself";
}

function* admissionLines({ admissions }: CheckReport): Generator<string> {
  if (admissions.length === 0) return;
  yield "";
  yield "whether injected pods would be admitted, by a dry run of one pod in each namespace:";
  for (const { namespace, workload, verdict, because } of admissions.slice(0, most))
    yield `  ${namespace} (${workload}): ${verdict}${because === undefined ? "" : `: ${printable(because)}`}`;
  if (admissions.length > most) yield `  and ${admissions.length - most} more`;
  if (admissions.some(({ verdict }) => verdict !== "admitted"))
    yield "  where a rule bounds grace periods, maxGracePeriodSeconds of a DrainPolicy keeps below it (docs/operate/inject.md)";
}

function* notKnownLines({ notKnown, rights }: CheckReport): Generator<string> {
  if (notKnown.length === 0) return;
  yield "";
  yield "not known:";
  for (const { what, because } of notKnown) yield `  ${printable(what)}: ${printable(because)}`;
  if (rights === null) return;
  yield "  these rights would answer (kubectl apply -f -; bind them to who runs this command):";
  for (const line of rights.trimEnd().split("\n")) yield `    ${line}`;
}

function howToAsk(need: string, reader: string | undefined): string {
  if (reader === undefined) return "nothing of Lameduck's can ask it";
  return isOfBalancer(need)
    ? `a Deployment of the Helm chart can ask it: --set acknowledgements.balancers.enabled=true --set 'acknowledgements.balancers.discover={${reader}}' (docs/operate/balancers.md)`
    : `a watcher can ask it (--consumer=${reader})`;
}

import { onlySleep } from "@lameduck/audit";
import { printable } from "@lameduck/drain/common";
import { count } from "@lameduck/accounting/words";
import { controllerOf, type ContainerStatus, type Event, type Handler, type Pod } from "@lameduck/kube";
import { heldMark } from "@lameduck/protocol";
import { containerIn } from "@lameduck/rollout";
import { containersOf } from "../cluster/reading.ts";
import { timeOf, type Budget, type Known } from "./read.ts";

/** One thing that a pod waits for. */
export interface Reason {
  /** A word for scripts. */
  readonly cause: Cause;
  readonly text: string;
  /** When it is over at the latest, in milliseconds since 1970; null where nothing bounds it, undefined where that is not known. */
  readonly until?: number | null;
  /** What ends it sooner, the least harmful first. */
  readonly ways: readonly Way[];
}

interface Way {
  readonly command: string;
  readonly cost: string;
}

export type Cause =
  | "budget"
  | "ended"
  | "finalizer"
  | "held-deletion"
  | "hook"
  | "kubelet"
  | "node-gone"
  | "node-silent"
  | "not-deleted"
  | "not-started"
  | "own-hold"
  | "overdue"
  | "program"
  | "rollout"
  | "senders"
  | "sidecar";

/** Why a pod is still there. The first is what it waits for now; the others come after it. */
export function reasonsOf(known: Known): readonly Reason[] {
  return [...(known.pod.metadata.deletionTimestamp === undefined ? ofStaying(known) : ofTerminating(known))];
}

function* ofTerminating(known: Known): Generator<Reason> {
  const { pod, node } = known;
  const finalizers = pod.metadata.finalizers ?? [];
  if (pod.spec.nodeName === undefined) {
    if (finalizers.length > 0) yield waitsForFinalizers(pod, finalizers);
    return;
  }
  if (node === "gone") yield nodeGone(known, pod.spec.nodeName);
  else if (node && silentSince(node) !== undefined) yield nodeSilent(known, silentSince(node) ?? 0);
  else yield* ofKubelet(known);
  if (finalizers.length > 0) yield waitsForFinalizers(pod, finalizers);
}

/** What the kubelet of a node that answers does with the pod. */
function* ofKubelet(known: Known): Generator<Reason> {
  const { pod, now } = known;
  const running = runningOf(pod);
  if (running.length === 0) {
    const waiting = statusesOf(pod).find(({ state }) => state?.waiting !== undefined);
    const hasRun = statusesOf(pod).some(({ state, lastState }) => state?.terminated ?? lastState?.terminated);
    if (waiting && !hasRun) yield notStarted(known, waiting);
    else if (pod.status?.phase === "Pending" && statusesOf(pod).length === 0) yield notReported(pod);
    else if ((pod.metadata.finalizers ?? []).length === 0) yield kubeletTidies(known);
    return;
  }
  const end = graceEnd(pod);
  if (now > end + lateMs) yield overdue(known, running);
  else yield ofContainers(known, running, end);
}

/** A container is killed at the end of the grace period; its status takes a moment. */
const lateMs = 10_000;

function ofContainers(known: Known, running: readonly ContainerStatus[], until: number): Reason {
  const ways = waysToEnd(known, until);
  const { pod, coordinator, phases, now } = known;
  const holding = phases.find(({ phase }) => phase.phase === "lame-duck")?.phase;
  const isHeld = coordinator?.phase === "lame-duck" || holding !== undefined;
  const hold = {
    command: `lameduck end ${nameOf(pod)}`,
    cost: "requests that senders still send are refused",
  };
  if (
    coordinator &&
    (coordinator.state === "waiting" || coordinator.state === "incomplete") &&
    !isOver(known)
  ) {
    const { waitsFor, waitsForMore } = coordinator;
    const who = waitsFor.map((one) => printable(one)).join(", ");
    const text =
      who === ""
        ? "it holds until its endpoints are withdrawn"
        : `it holds for senders that have not stopped sending: ${who}${waitsForMore > 0 ? ` and ${waitsForMore} more` : ""}`;
    return { cause: "senders", text, until, ways: [hold, ...ways] };
  }
  if (isHeld && !isOver(known)) {
    const since = holding ? `, for ${seconds(now - holding.at)}` : "";
    const text = `Lameduck holds it${since}: requests have not been silent for long enough`;
    return { cause: "own-hold", text, until, ways: [hold, ...ways] };
  }
  const sidecars = running.filter(({ name }) => isSidecar(pod, name));
  if (sidecars.length === running.length && hasMainEnded(pod)) {
    const names = sidecars.map(({ name }) => name).join(", ");
    return {
      cause: "sidecar",
      text: `its main containers have ended; the sidecar ${names} stops after them`,
      until,
      ways,
    };
  }
  // The kubelet goes on to the signal where a hook has failed.
  const hooks = running
    .flatMap((one) => hookOf(known, one.name))
    .filter(({ container }) => !hasHookFailed(known, container));
  const asleep = hooks
    .filter((one) => one.over !== undefined && one.over > now)
    .toSorted((a, b) => (b.over ?? 0) - (a.over ?? 0))[0];
  if (asleep) {
    const over = Math.min(asleep.over ?? until, until);
    const text = `the preStop hook of ${asleep.container} sleeps: ${seconds(over - now)} more; then its program is told to stop`;
    return { cause: "hook", text, until, ways };
  }
  const open = hooks.filter(({ over }) => over === undefined && !isOver(known));
  if (open[0]) {
    const { container, words } = open[0];
    const text = `the preStop hook of ${container} (${words}) has not ended, or its program has been told and is not done; the API shows no difference`;
    return { cause: "hook", text, until, ways };
  }
  const since = stopAskedAt(known, hooks);
  const names = running.map(({ name }) => name).join(", ");
  const shell = running.flatMap(({ name }) => shellOf(pod, name))[0];
  const hint =
    shell === undefined
      ? ""
      : `; ${shell} runs it, and a shell passes no SIGTERM on: \`lameduck audit\` tells more`;
  // The kubelet reports no container's end before it has ended all of a deleted pod.
  const among = running.length > 1 ? "; one of them may have ended, which the API does not show yet" : "";
  const closing = phases.some(({ phase }) => phase.phase === "closing")
    ? "finishes requests and its own shutdown"
    : "has been told to stop and runs on";
  return {
    cause: "program",
    text: `the program of ${names} ${closing}${since > 0 ? `, for ${seconds(now - since)}` : ""}${among}${hint}`,
    until,
    ways,
  };
}

/** The hold is over, whatever else is known of it. */
function isOver({ coordinator, phases }: Known): boolean {
  const isEnd = (word: string | undefined): boolean => word === "closing" || word === "closed";
  // A container that still holds keeps the pod, wherever it stands in the spec.
  const isEndOfAll = phases.length > 0 && phases.every(({ phase }) => isEnd(phase.phase));
  return isEnd(coordinator?.phase) || isEndOfAll;
}

interface Hook {
  readonly container: string;
  readonly words: string;
  /** When a hook that sleeps is over; undefined where nothing tells. */
  readonly over: number | undefined;
}

function hookOf({ pod }: Known, container: string): Hook[] {
  const hook = containersOf(pod).find(({ name }) => name === container)?.lifecycle?.preStop;
  if (hook === undefined) return [];
  const sleeps = sleepOf(hook);
  const over = sleeps === undefined ? undefined : begunAt(pod) + sleeps * 1_000;
  return [{ container, words: printable(wordsOf(hook)), over }];
}

/** Seconds of a hook that does nothing but sleep, and perhaps begin the stop behind that. */
function sleepOf({ sleep, exec }: Handler): number | undefined {
  if (sleep) return sleep.seconds;
  const read = onlySleep(exec?.command ?? []);
  return "seconds" in read ? read.seconds : undefined;
}

function wordsOf({ exec, sleep, httpGet }: Handler): string {
  if (sleep) return `sleep ${sleep.seconds}`;
  if (httpGet) return `GET ${httpGet.path ?? "/"}`;
  const words = (exec?.command ?? []).join(" ");
  return words.length > 60 ? `${words.slice(0, 57)}...` : words || "no command";
}

/** When the program was told, as far as that is known; 0 where it is not. */
function stopAskedAt({ pod, phases }: Known, hooks: readonly Hook[]): number {
  const closing = phases.findLast(({ phase }) => phase.phase === "closing");
  if (closing) return closing.phase.at;
  return Math.max(begunAt(pod), ...hooks.map(({ over }) => over ?? 0));
}

/** A shell that is the container's first process. */
function shellOf(pod: Pod, container: string): string[] {
  const [file = "", flag] = containersOf(pod).find(({ name }) => name === container)?.command ?? [];
  return /(?:^|\/)(?:ba|da|a)?sh$/.test(file) && flag === "-c" ? [`${file} -c`] : [];
}

const waysToEnd = ({ pod, now }: Known, until: number): Way[] => [
  forced(pod, `its name is free at once, and its containers run on until ${clockOf(until, now)}, unseen`),
  onNode(pod),
];

function onNode(pod: Pod): Way {
  const ids = runningOf(pod).map(({ containerID = "" }) => containerID.replace(/^.*:\/\//, "").slice(0, 13));
  return {
    command: `crictl stop --timeout 0 ${ids.join(" ")}   # on node ${pod.spec.nodeName ?? ""}`,
    cost: "requests in flight are lost, and so are those that still come",
  };
}

function overdue(known: Known, running: readonly ContainerStatus[]): Reason {
  const { pod, now } = known;
  const said = eventOf(known, "FailedKillPod");
  const names = running.map(({ name }) => name).join(", ");
  const why = said
    ? `: ${printable(said.message ?? "")}`
    : "; its kubelet or its runtime does not get on, or its processes hang in the kernel";
  return {
    cause: "overdue",
    text: `its grace period was over ${seconds(now - graceEnd(pod))} ago, and ${names} still counts as running${why}`,
    until: null,
    ways: [
      {
        command: `journalctl -u kubelet | grep ${pod.metadata.name}   # on node ${pod.spec.nodeName ?? ""}`,
        cost: "nothing: it shows what the kubelet waits for",
      },
      onNode(pod),
      forced(pod, "a second copy may start while the first still runs and writes"),
    ],
  };
}

function kubeletTidies(known: Known): Reason {
  const { pod } = known;
  const claims = (pod.spec.volumes ?? []).flatMap(
    ({ persistentVolumeClaim: claim }) => claim?.claimName ?? [],
  );
  const said = eventOf(
    known,
    "FailedKillPod",
    "FailedUnMount",
    "FailedUnmountVolume",
    "FailedMount",
    "FailedPodSandBoxTeardown",
  );
  const what =
    claims.length > 0 ? `its volumes (${claims.join(", ")}) and its network` : "its network and its volumes";
  const text = said
    ? `its containers have ended; the kubelet cannot take ${what} down: ${printable(said.message ?? "")}`
    : `its containers have ended; the kubelet takes ${what} down`;
  const cost =
    claims.length > 0
      ? "a volume that is still mounted may be attached elsewhere and be damaged"
      : "the address may be given away while the network still has it";
  return { cause: "kubelet", text, ...(said ? { until: null } : {}), ways: [forced(pod, cost)] };
}

function notStarted({ pod }: Known, { name, state }: ContainerStatus): Reason {
  const { reason = "it waits", message = "" } = state?.waiting ?? {};
  const text = `${name} has never run (${printable(reason)}${message ? `: ${printable(message)}` : ""}); the kubelet removes the pod`;
  return { cause: "not-started", text, ways: [forced(pod, "nothing: no program of it runs")] };
}

/** The kubelet may be about to start what it has not reported yet. */
const notReported = (pod: Pod): Reason => ({
  cause: "not-started",
  text: "its kubelet has reported none of its containers yet, and removes the pod when it gets to it",
  ways: [forced(pod, "a container that has started meanwhile runs on unseen")],
});

function waitsForFinalizers(pod: Pod, finalizers: readonly string[]): Reason {
  const all = finalizers.map((one) => printable(one)).join(", ");
  const job = finalizers.includes("batch.kubernetes.io/job-tracking")
    ? "; the Job controller takes its own away when it has counted the pod"
    : "";
  return {
    cause: "finalizer",
    text: `its object waits for finalizers: ${all}${job}. Whoever has set a finalizer must take it away`,
    until: null,
    ways: [
      {
        command: `kubectl patch pod ${nameOf(pod)} --type=merge -p '{"metadata":{"finalizers":null}}'`,
        cost: "what the finalizer was to tidy up stays as it is, for good",
      },
    ],
  };
}

function nodeGone({ pod, now }: Known, node: string): Reason {
  return {
    cause: "node-gone",
    text: `its node ${node} is no object of the cluster any more, so no kubelet tells of its end; the pod garbage collector removes such pods`,
    // Two rounds of 20 s, and a quarantine of 40 s for a node that comes back (pkg/controller/podgc).
    until: now + 80_000,
    ways: [forced(pod, "nothing, if the machine is off")],
  };
}

function nodeSilent({ pod, now }: Known, since: number): Reason {
  const node = pod.spec.nodeName ?? "";
  return {
    cause: "node-silent",
    text: `its node ${node} has not reported${since > 0 ? ` for ${seconds(now - since)}` : ""}: its kubelet may run the pod still, and cannot tell`,
    until: null,
    ways: [
      {
        command: `kubectl taint node ${node} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute`,
        cost: "only where the machine is off: its volumes are detached at once",
      },
      {
        command: `kubectl delete node ${node}`,
        cost: "only where the machine does not come back: all its pods are made anew elsewhere",
      },
      forced(pod, "a second copy may run beside the first"),
    ],
  };
}

function silentSince(node: Exclude<Known["node"], "gone" | undefined>): number | undefined {
  const ready = node.status?.conditions?.find(({ type }) => type === "Ready");
  if (ready?.status !== "Unknown") return undefined;
  return Date.parse(ready.lastTransitionTime ?? "") || 0;
}

/** Nobody has deleted it, or nobody could. */
function* ofStaying(known: Known): Generator<Reason> {
  const { pod, node, workload } = known;
  const { labels = {}, annotations = {} } = pod.metadata;
  if (labels[heldMark] !== undefined || annotations[heldMark] !== undefined)
    yield {
      cause: "held-deletion",
      text: "its deletion waits before it begins, until senders have another pod (held deletions)",
      ways: [forced(pod, "requests may come to nothing until another pod is ready")],
    };
  const phase = pod.status?.phase;
  if (phase === "Succeeded" || phase === "Failed") {
    yield {
      cause: "ended",
      text: `it has ended (${phase}), and its object stays until somebody deletes it${controllerOf(pod)?.kind === "Job" ? ": ttlSecondsAfterFinished of its Job would" : ""}`,
      until: null,
      ways: [{ command: `kubectl delete pod ${nameOf(pod)}`, cost: "its log is gone, too" }],
    };
    return;
  }
  const isCordoned = node !== undefined && node !== "gone" && node.spec?.unschedulable === true;
  // The API server evicts a pod that has not started, whatever its budgets say.
  const budgets = phase === "Pending" ? [] : known.budgets;
  const closed = budgets.filter(({ status }) => (status?.disruptionsAllowed ?? 0) === 0);
  if (isCordoned || budgets.length > 1) {
    if (budgets.length > 1) yield twoBudgets(pod, budgets);
    else if (closed[0]) yield closedBudget(pod, closed[0]);
    if (isCordoned && controllerOf(pod) === undefined)
      yield {
        cause: "not-deleted",
        text: `its node ${pod.spec.nodeName ?? ""} is cordoned, and no controller would make the pod anew: a drain refuses it`,
        until: null,
        ways: [
          { command: `kubectl drain ${pod.spec.nodeName ?? ""} --force`, cost: "the pod is gone for good" },
        ],
      };
  }
  if (workload && !workload.isNewest) yield rolloutWaits(pod, workload);
  if (!isCordoned && closed[0] && budgets.length === 1 && (!workload || workload.isNewest))
    yield closedBudget(pod, closed[0]);
}

function twoBudgets(pod: Pod, budgets: readonly Budget[]): Reason {
  return {
    cause: "budget",
    text: `${budgets.length} PodDisruptionBudgets select it (${namesOf(budgets)}): the API server refuses every eviction of such a pod`,
    until: null,
    ways: [
      {
        command: `kubectl delete pdb ${budgets[0]?.metadata.name ?? ""} -n ${pod.metadata.namespace ?? ""}`,
        cost: "the other budget alone protects its pods",
      },
    ],
  };
}

function closedBudget(pod: Pod, { metadata, status }: Budget): Reason {
  const { currentHealthy, desiredHealthy } = status ?? {};
  const counts =
    currentHealthy === undefined || desiredHealthy === undefined
      ? ""
      : `: ${currentHealthy} healthy, ${desiredHealthy} wanted`;
  return {
    cause: "budget",
    text: `an eviction of it is refused by PodDisruptionBudget ${metadata.name}${counts}`,
    until: null,
    ways: [
      {
        command: `kubectl get pods -n ${pod.metadata.namespace ?? ""} -o wide   # which pods of it are not ready?`,
        cost: "nothing",
      },
      {
        command: `kubectl delete pod ${nameOf(pod)}`,
        cost: "it goes past the budget: fewer pods than it wants serve",
      },
    ],
  };
}

function rolloutWaits(pod: Pod, workload: NonNullable<Known["workload"]>): Reason {
  const { spec, status = {} } = workload.object;
  const target = `${workload.kind}/${workload.object.metadata.name}`;
  const inNamespace = `-n ${pod.metadata.namespace ?? ""}`;
  const stuck = stuckBecause(pod, workload.object, target, inNamespace);
  const { why, way } = stuck ?? { why: "old pods stay until new pods are ready", way: undefined };
  const state = `${status.updatedReplicas ?? 0} of ${count(spec.replicas ?? 1, "pod")} new, ${status.readyReplicas ?? 0} of all ready`;
  return {
    cause: "rollout",
    text: `it is of an older template of ${target}, whose rollout is not done: ${state}; ${why}`,
    ...(stuck && { until: null }),
    ways: [
      way ?? {
        command: `kubectl rollout status ${target} ${inNamespace}`,
        cost: "nothing: it shows the new pods",
      },
    ],
  };
}

/** What somebody must act on; undefined for a rollout that comes to this pod by itself. */
function stuckBecause(
  pod: Pod,
  { spec, status }: NonNullable<Known["workload"]>["object"],
  target: string,
  inNamespace: string,
): { readonly why: string; readonly way?: Way } | undefined {
  if (spec.paused === true)
    return {
      why: "its rollout is paused",
      way: { command: `kubectl rollout resume ${target} ${inNamespace}`, cost: "the rollout goes on" },
    };
  const { type: strategy, rollingUpdate } = spec.updateStrategy ?? {};
  if (strategy === "OnDelete")
    return {
      why: "its update strategy is OnDelete: a pod stays old until somebody deletes it",
      way: { command: `kubectl delete pod ${nameOf(pod)}`, cost: "it stops in order, and comes back new" },
    };
  const partition = rollingUpdate?.partition ?? 0;
  // Pods from the partition on are rolled.
  if (Number(/\d+$/.exec(pod.metadata.name)?.[0]) < partition)
    return {
      why: `its partition is ${partition}: pods with a lower number stay old`,
      way: {
        command: `kubectl patch ${target} ${inNamespace} -p '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}'`,
        cost: "all pods are rolled",
      },
    };
  const problem = status?.conditions?.find(
    ({ type, status: is }) =>
      (type === "Progressing" && is === "False") || (type === "ReplicaFailure" && is === "True"),
  );
  return problem && { why: `${problem.reason ?? problem.type}: ${printable(problem.message ?? "")}` };
}

const forced = (pod: Pod, cost: string): Way => ({
  command: `kubectl delete pod ${nameOf(pod)} --grace-period=0 --force`,
  cost,
});

const nameOf = ({ metadata }: Pod): string => `${metadata.name} -n ${metadata.namespace ?? ""}`;
const namesOf = (all: readonly Budget[]): string => all.map(({ metadata }) => metadata.name).join(", ");

const statusesOf = ({ status }: Pod): readonly ContainerStatus[] => [
  ...(status?.containerStatuses ?? []),
  ...(status?.initContainerStatuses ?? []),
];
const runningOf = (pod: Pod): readonly ContainerStatus[] =>
  statusesOf(pod).filter(({ state }) => state?.running !== undefined);
const isSidecar = ({ spec }: Pod, name: string): boolean =>
  (spec.initContainers ?? []).some((one) => one.name === name && one.restartPolicy === "Always");
const hasMainEnded = ({ status }: Pod): boolean =>
  (status?.containerStatuses ?? []).every(({ state }) => state?.terminated !== undefined);

/** The timestamp is the end of the grace period. */
const graceEnd = ({ metadata }: Pod): number => Date.parse(metadata.deletionTimestamp ?? "");
const begunAt = (pod: Pod): number =>
  graceEnd(pod) -
  (pod.metadata.deletionGracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 30) * 1_000;

/** The newest of an event since the deletion. */
function eventOf(known: Known, ...reasons: readonly string[]): Event | undefined {
  return eventsOf(known, ...reasons).at(-1);
}

function eventsOf({ pod, events }: Known, ...reasons: readonly string[]): Event[] {
  return events.filter((one) => reasons.includes(one.reason ?? "") && timeOf(one) >= begunAt(pod) - 1_000);
}

/** An event that names no container may be of any. */
function hasHookFailed(known: Known, container: string): boolean {
  return eventsOf(known, "FailedPreStopHook").some(
    ({ involvedObject }) => (containerIn(involvedObject) ?? container) === container,
  );
}

export const seconds = (milliseconds: number): string => {
  const whole = Math.max(0, Math.round(milliseconds / 1_000));
  return whole < 120
    ? `${whole} s`
    : whole < 7_200
      ? `${Math.round(whole / 60)} min`
      : `${Math.round(whole / 3_600)} h`;
};

/** With its date where that is not today's. */
export function clockOf(time: number, now: number): string {
  const [text, today] = [time, now].map((one) => new Date(one).toISOString()) as [string, string];
  const isToday = text.slice(0, 10) === today.slice(0, 10);
  return `${text.slice(isToday ? 11 : 0, 19).replace("T", " ")} UTC`;
}

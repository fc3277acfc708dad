import { isDeepStrictEqual } from "node:util";
import { count } from "@lameduck/accounting/words";
import type { Condition, Pod, Workload } from "@lameduck/kube";
import type { TargetKind } from "./target-reference.ts";

/**
 * How far a workload's controller has come, as `kubectl rollout status` judges it, and also where that refuses to: paused Deployments
 * and OnDelete. In words: "3 of 4 pods updated, 2 available".
 */
export function controllerProgress(
  kind: TargetKind,
  workload: Workload,
  generation: number,
  before?: Workload,
): { readonly done: boolean; readonly words: string } {
  const { metadata, spec, status = {} } = workload;
  const pause = pauseOf(workload);
  // Whoever acts on a Rollout that is paused already does not wait until it is promoted.
  const isPaused =
    spec.paused || (pause !== undefined && isDeepStrictEqual(pause, before && pauseOf(before)));
  const wanted = kind === "daemonset" ? (status.desiredNumberScheduled ?? 0) : (spec.replicas ?? 1);
  const updated = kind === "daemonset" ? (status.updatedNumberScheduled ?? 0) : updatedOf(kind, status);
  const available =
    kind === "daemonset"
      ? (status.numberAvailable ?? 0)
      : (status.availableReplicas ?? (kind === "statefulset" ? status.readyReplicas : undefined) ?? 0);
  const toUpdate = Math.max(0, wanted - (isPaused ? wanted : keptOld(spec, wanted)));
  const old = toUpdate < wanted ? 0 : Math.max(0, (status.replicas ?? 0) - updated);
  const words =
    `${updated} of ${count(toUpdate || wanted, "pod")} updated, ${available} available${old > 0 ? `, ${old} old` : ""}` +
    (spec.paused ? ", paused" : "") +
    (pause ? `, ${pause.words}` : "");
  const seen = Number(status.observedGeneration ?? 0);
  const current = (metadata.generation ?? 0) >= generation && seen >= (metadata.generation ?? 0);
  if (!current) return { done: false, words: "the controller has not seen the change yet" };
  const existing = kind === "daemonset" ? wanted : (status.replicas ?? 0);
  const done = updated >= toUpdate && available >= wanted && existing <= wanted;
  // An Argo Rollout may pause with every pod new. Before it is promoted, it is not over, and may go back.
  const isPromoted = isPaused || status.stableRS === status.currentPodHash;
  return { done: done && isRestarted(spec, status) && isPromoted, words };
}

/** An Argo Rollout that is restarted keeps its ReplicaSet: only its own status says that every pod is newer than the restart. */
function isRestarted(
  { restartAt }: Workload["spec"],
  { restartedAt }: NonNullable<Workload["status"]>,
): boolean {
  return restartAt === undefined || Date.parse(restartedAt ?? "") >= Date.parse(restartAt);
}

/** Why an Argo Rollout goes no further, and since when. */
export function pauseOf({
  spec: { strategy: { canary, blueGreen } = {} },
  status = {},
}: Workload): { readonly since: string; readonly words: string } | undefined {
  if (status.abort)
    return {
      since: status.abortedAt ?? "",
      words: "aborted: it keeps its old version until it is retried or changed",
    };
  const [pause] = status.pauseConditions ?? [];
  if (pause === undefined) return undefined;
  const { reason, startTime: since } = pause;
  const limits = {
    CanaryPauseStep: canary?.steps?.[status.currentStepIndex ?? 0]?.pause?.duration,
    BlueGreenPause: blueGreen?.autoPromotionSeconds,
  };
  const endsByItself = limits[reason as keyof typeof limits] !== undefined;
  return { since, words: `paused (${reason})${endsByItself ? "" : ": it waits for a promotion"}` };
}

/** How many pods the controller does not update by itself: those below a partition, or all of them. */
function keptOld({ updateStrategy }: Workload["spec"], wanted: number): number {
  if (updateStrategy?.type === "OnDelete") return wanted;
  return updateStrategy?.rollingUpdate?.partition ?? 0;
}

/** A Deployment whose controller has given up waiting for its pods; the condition that says so. */
export function deadlineExceeded({ status }: Workload): Condition | undefined {
  return status?.conditions?.find(
    ({ type, reason }) => type === "Progressing" && reason === "ProgressDeadlineExceeded",
  );
}

function updatedOf(kind: TargetKind, status: NonNullable<Workload["status"]>): number {
  // A StatefulSet that is not being rolled has its updated replicas in the current revision.
  if (kind === "statefulset" && status.currentRevision === status.updateRevision) return status.replicas ?? 0;
  return status.updatedReplicas ?? 0;
}

/** Why no pods are made: a quota, an admission webhook. */
export function replicaFailures({ status }: Workload): string[] {
  const failures = status?.conditions?.filter(
    ({ type, status: value }) => type === "ReplicaFailure" && value === "True",
  );
  return (failures ?? []).map(({ reason, message }) => `${reason ?? "ReplicaFailure"}: ${message ?? ""}`);
}

/** Why pods do not become ready: "web-7d-x4 ImagePullBackOff: Back-off pulling image ..." */
export function waitingReasons(pods: readonly Pod[]): string[] {
  return pods.flatMap((pod) => reasonsOf(pod).map((reason) => `${pod.metadata.name} ${reason}`));
}

/** Why a pod is not ready, by its own status. */
export function reasonsOf(pod: Pod): string[] {
  const { status } = pod;
  const waiting = status?.containerStatuses?.flatMap(({ name, state, lastState }) => {
    const { reason = "", message = "" } = state?.waiting ?? {};
    if (reason === "") return [];
    const ended = lastState?.terminated;
    const last = ended ? `, last exit code ${ended.exitCode}` : "";
    return [`${name}: ${reason}${last}${message === "" ? "" : `: ${message.slice(0, 160)}`}`];
  });
  const unscheduled = status?.conditions?.find(
    ({ type, status: value }) => type === "PodScheduled" && value === "False",
  );
  return [
    ...(waiting ?? []),
    ...(unscheduled ? [`${unscheduled.reason ?? "unscheduled"}: ${unscheduled.message ?? ""}`] : []),
    ...gatesOf(pod),
  ];
}

/** Readiness gates that have not passed although the containers are ready: whoever should set them has not. */
function gatesOf({ spec, status }: Pod): string[] {
  const of = new Map(status?.conditions?.map((one) => [one.type, one]));
  if (of.get("ContainersReady")?.status !== "True") return [];
  return (spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const gate = of.get(conditionType);
    if (gate?.status === "True") return [];
    const said = [gate?.reason, gate?.message?.slice(0, 160)].filter(Boolean).join(": ");
    const why = gate === undefined ? "nothing has set it" : said || `it is ${gate.status}`;
    return [`its containers are ready, and readiness gate ${conditionType} has not passed: ${why}`];
  });
}

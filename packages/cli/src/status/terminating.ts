import { injectedAnnotation } from "@lameduck/protocol";
import type { TerminatingPod } from "@lameduck/coordinator";
import { printable } from "@lameduck/drain/common";
import { count } from "@lameduck/accounting/words";
import type { Pod } from "@lameduck/kube";
import { workloadTextOf } from "../cluster/reading.ts";

/** A pod that terminates now. */
export interface TerminatingNow {
  readonly namespace: string;
  readonly name: string;
  readonly workload: string;
  /** Milliseconds, by the API server's clock. */
  readonly since: number;
  /** The termination began earlier: a pod whose containers have ended is marked as deleted anew. */
  readonly isAtLeast: boolean;
  /** Undefined where its containers have ended. */
  readonly graceSeconds: number | undefined;
  /** For whom or what it waits, in words. */
  readonly waits: string;
}

/** @param known what a coordinator says of it. */
export function terminatingNow(pod: Pod, known: TerminatingPod | undefined, now: number): TerminatingNow {
  const { metadata, spec } = pod;
  const { deletionTimestamp = "", deletionGracePeriodSeconds } = metadata;
  const graceSeconds = deletionGracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? 30;
  // The timestamp is the end of the grace period.
  const marked = now - (Date.parse(deletionTimestamp) - graceSeconds * 1_000);
  const isAnew = deletionGracePeriodSeconds === 0 && hasEnded(pod);
  // The coordinator has seen when it began.
  const began = isAnew && known !== undefined ? now - Date.parse(known.deletedAt) : marked;
  return {
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    workload: workloadTextOf(pod),
    since: Math.max(0, marked, began),
    isAtLeast: isAnew && known === undefined,
    graceSeconds: hasEnded(pod) ? undefined : graceSeconds,
    waits: waitsOf(pod, known),
  };
}

function waitsOf(pod: Pod, known: TerminatingPod | undefined): string {
  const { metadata } = pod;
  if (hasEnded(pod)) {
    const finalizers = metadata.finalizers ?? [];
    return finalizers.length > 0
      ? `its containers have ended; the object waits for finalizers: ${finalizers.join(", ")}`
      : "its containers have ended; the kubelet removes it";
  }
  if (known && known.phase !== undefined && known.phase !== "lame-duck")
    return `its hold is over (${printable(known.phase)}); its program is still there`;
  if (known?.state === "released") return "released; its hook or its program is not done";
  if (known && known.waitsFor.length > 0) {
    const more = known.waitsForMore > 0 ? ` and ${known.waitsForMore} more` : "";
    return `waits for ${known.waitsFor.map((one) => printable(one)).join(", ")}${more}`;
  }
  if (known?.state === "waiting") return "waits until its endpoints are withdrawn";
  return metadata.annotations?.[injectedAnnotation] === undefined
    ? "no Lameduck was injected: its own program decides"
    : "its own evidence decides: no coordinator says whom it waits for";
}

function hasEnded({ status }: Pod): boolean {
  const containers = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  return containers.length > 0 && containers.every(({ state }) => state?.running === undefined);
}

function boundText(since: number, graceSeconds: number | undefined): string {
  if (graceSeconds === undefined) return "";
  const left = graceSeconds * 1_000 - since;
  return left > 0 ? `, at most ${seconds(left)} more` : `, its grace period of ${graceSeconds} s is over`;
}

const seconds = (milliseconds: number): string => `${Math.round(milliseconds / 1_000)} s`;

export function* terminatingLines(pods: readonly TerminatingNow[], more: number): Generator<string> {
  yield `terminating: ${pods.length === 0 ? "no pod" : count(pods.length, "pod")}`;
  for (const { namespace, name, workload, since, isAtLeast, graceSeconds, waits } of pods) {
    yield `  ${namespace}/${name} (${workload}): for ${isAtLeast ? "at least " : ""}${seconds(since)}${boundText(since, graceSeconds)}; ${waits}`;
  }
  if (more > 0) yield `  and ${more} more`;
}

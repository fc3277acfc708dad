import { setTimeout as sleep } from "node:timers/promises";
import { hasStatus, type KubernetesClient } from "@lameduck/kube";
import { endAnnotation, endAnnotationValue } from "@lameduck/protocol";
import { ifReadable } from "../cluster/facts.ts";
import { namespaceOfCoordinator, readReplicas, readTerminating } from "../status/coordinator.ts";
import { pathOf, stillRuns, type PodName, type RunningContainer } from "./pod.ts";

/** Milliseconds from the annotation until its effect must be seen: the watch, one answer, and what the pod does at once. */
const longestMs = 4_000;
const pauseMs = 200;
/** Milliseconds for the coordinator's own answer, which not everybody may ask for. */
const longestQuestionMs = 1_000;

/** Asks the coordinator, by an annotation that it reads. @returns false where the pod may not be annotated by whoever asks. */
export async function askCoordinator(
  client: KubernetesClient,
  pod: PodName,
  uid: string,
  signal: AbortSignal,
): Promise<boolean> {
  const metadata = { uid, annotations: { [endAnnotation]: endAnnotationValue } };
  try {
    await client.patch(pathOf(pod), { metadata }, "merge-patch", signal);
    return true;
  } catch (error) {
    if (hasStatus(error, 403)) return false;
    // It is gone, or another pod has its name.
    if (hasStatus(error, 404) || hasStatus(error, 409)) return true;
    throw error;
  }
}

/** @returns the containers that have ended, or whose hold was forced, as the pod has reported. */
export async function endedByCoordinator(
  client: KubernetesClient,
  pod: PodName,
  uid: string,
  containers: readonly RunningContainer[],
  signal: AbortSignal,
): Promise<ReadonlySet<RunningContainer>> {
  const ended = new Set<RunningContainer>();
  const until = performance.now() + longestMs;
  const [first, ...others] = containers;
  while (ended.size < containers.length && performance.now() < until) {
    for (const one of containers)
      if (!(await stillRuns(client, pod, { uid, container: one.name }, signal))) ended.add(one);
    // A report says nothing of which container it is from.
    if (first && others.length === 0) {
      const { reason } = (await reportedEnd(client, uid, first.coordinator, signal)) ?? {};
      if (reason === "forced") ended.add(first);
      // It had ended by itself: nothing is left for the coordinator to do.
      else if (reason !== undefined) break;
    }
    if (ended.size < containers.length) await sleep(pauseMs, undefined, { signal });
  }
  return ended;
}

/** Why the hold has ended, as the pod has reported to the coordinator, if it has; undefined where that may not be asked. */
export async function reportedEnd(
  client: KubernetesClient,
  uid: string,
  address: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly reason: string | undefined } | undefined> {
  const namespace = namespaceOfCoordinator(address);
  if (namespace === undefined) return undefined;
  const limited = AbortSignal.any([signal, AbortSignal.timeout(longestQuestionMs)]);
  try {
    const replicas = await readReplicas(client, namespace, limited);
    // Where no coordinator runs, none has ended a hold.
    const path = `/api/v1/namespaces/${namespace}/pods?limit=1`;
    if (replicas.length === 0) return (await ifReadable(client.list(path, limited))) && { reason: undefined };
    const found = await readTerminating(client, namespace, replicas, limited);
    const own = found?.pods.find((one) => one.uid === uid);
    return found && { reason: own?.phase === "lame-duck" ? undefined : own?.reason };
  } catch (error) {
    if (signal.aborted) throw error;
    return undefined;
  }
}

import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "@lameduck/drain/common";
import { ApiFailure, type KubernetesClient } from "@lameduck/kube";
import { askCoordinator, endedByCoordinator, reportedEnd } from "./by-coordinator.ts";
import { endInContainer, type Told, type ToldHold } from "./in-container.ts";
import {
  mustBeTerminating,
  readPod,
  runningContainers,
  stillRuns,
  type PodName,
  type RunningContainer,
} from "./pod.ts";

/** What has become of one container. */
export interface ContainerEnd {
  readonly container: string;
  /** As the runtime of its node knows it. */
  readonly id: string;
  readonly outcome: "ended" | "not-ended" | "nothing-held" | "unknown";
  /** Who answered; undefined where no program could be asked. */
  readonly by?: "coordinator" | "binary" | "shell";
  readonly holds?: readonly ToldHold[];
  readonly problem?: string;
  /** Why its hold had ended before: its stop reason, as the pod reported it. */
  readonly reason?: string | undefined;
}

export interface PodEnd {
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
  readonly node: string | undefined;
  /** When the kubelet ends it in any case: ISO 8601, by the API server's clock. */
  readonly graceEnds: string | undefined;
  readonly containers: readonly ContainerEnd[];
}

/** Milliseconds for the end of a container whose processes were killed meanwhile: the kubelet has to see it. */
const seenMs = 3_000;
const pauseMs = 250;
/** Milliseconds in which the kubelet signals a pod that has just been deleted: before, nothing is held. */
const signalledMs = 3_000;

/** The WebSocket begins as a GET. kubectl goes on to another protocol, for which the second right is enough. */
const neededRights = "that takes the rights to get and to create pods/exec";

/** Ends the holds of a terminating pod: by the coordinator, else by what is in its containers. */
export async function endHolds(
  client: KubernetesClient,
  pod: PodName,
  onStage: (text: string) => void,
  signal: AbortSignal,
): Promise<PodEnd> {
  const read = await readPod(client, pod, signal);
  mustBeTerminating(read);
  const { uid } = read.metadata;
  const containers = runningContainers(read);
  const signalled = performance.now() + signalledMs;
  const ends = new Map<RunningContainer, ContainerEnd>();
  const told = containers.filter(({ coordinator }) => coordinator !== undefined);
  let isAsked = false;
  if (told.length > 0) {
    onStage("asking the coordinator");
    isAsked = await askCoordinator(client, pod, uid, signal);
    if (!isAsked) onStage("you may not annotate the pod, so the coordinator is not asked");
  }
  if (isAsked)
    for (const one of await endedByCoordinator(client, pod, uid, told, signal))
      ends.set(one, { container: one.name, id: one.id, outcome: "ended", by: "coordinator" });
  for (const one of containers)
    if (!ends.has(one)) {
      onStage(`asking container ${one.name}`);
      const wasAsked = isAsked && one.coordinator !== undefined;
      let found = await inContainer(client, pod, uid, one, signal);
      const until = wasAsked ? 0 : signalled;
      while (found.outcome === "nothing-held" && performance.now() < until) {
        await sleep(pauseMs, undefined, { signal });
        found = await inContainer(client, pod, uid, one, signal);
      }
      if (wasAsked && found.outcome === "nothing-held") {
        // A report says nothing of which container it is from.
        const word = told.length > 1 ? undefined : await reportedEnd(client, uid, one.coordinator, signal);
        found = { ...found, ...(word === undefined ? { by: "coordinator" } : word) };
      }
      ends.set(one, found);
    }
  const { nodeName: node } = read.spec;
  const { deletionTimestamp: graceEnds } = read.metadata;
  return { namespace: pod.namespace, pod: pod.name, uid, node, graceEnds, containers: [...ends.values()] };
}

async function inContainer(
  client: KubernetesClient,
  pod: PodName,
  uid: string,
  one: RunningContainer,
  signal: AbortSignal,
): Promise<ContainerEnd> {
  const { name: container, id } = one;
  let told: Told | string;
  try {
    told = await endInContainer(client, pod, one, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    const isForbidden = error instanceof ApiFailure && error.status === 403;
    told = isForbidden ? `you may not exec in it: ${neededRights}` : messageOf(error);
  }
  if (typeof told !== "string") {
    const { by, holds, isCutOff } = told;
    const events = new Set(holds.map(({ event }) => event));
    const outcome = (["not-ended", "ended", "nothing-held"] as const).find((event) => events.has(event));
    if (outcome !== undefined && !(isCutOff && outcome === "nothing-held"))
      return { container, id, outcome, by, holds };
  }
  const isOver = await hasEnded(
    client,
    pod,
    { uid, container },
    typeof told === "string" ? 0 : seenMs,
    signal,
  );
  if (isOver)
    return { container, id, outcome: "ended", ...(typeof told === "string" ? {} : { by: told.by }) };
  const problem = typeof told === "string" ? told : "the command was killed before it could tell";
  return { container, id, outcome: "unknown", problem };
}

async function hasEnded(
  client: KubernetesClient,
  pod: PodName,
  at: { readonly uid: string; readonly container: string },
  withinMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const until = performance.now() + withinMs;
  while (await stillRuns(client, pod, at, signal)) {
    if (performance.now() > until) return false;
    await sleep(pauseMs, undefined, { signal });
  }
  return true;
}

import { type KubernetesClient, type Pod, hasStatus, KubernetesError } from "@lameduck/kube";
import { coordinatorVariable, heldMark } from "@lameduck/protocol";
import { badOption, CliError } from "../errors.ts";

export interface PodName {
  readonly namespace: string;
  readonly name: string;
}

export interface RunningContainer {
  readonly name: string;
  /** The address of the coordinator that it asks; undefined where it asks none. */
  readonly coordinator: string | undefined;
  /** As the runtime of its node knows it, shortened as crictl does. */
  readonly id: string;
  /** Where its manifest names a lameduck-init. */
  readonly binaries: readonly string[];
}

/** The API server's names, so that none of them becomes another path. */
const podName = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;

/** @param target "web-1" or "pod/web-1" @throws {CliError} */
export function mustBePodName(target: string): string {
  const name = target.replace(/^pods?\//, "");
  if (podName.test(name)) return name;
  throw badOption("<pod>", `"${target}" is no name of a pod`);
}

export function pathOf({ namespace, name }: PodName): string {
  return `/api/v1/namespaces/${namespace}/pods/${name}`;
}

/** @throws {KubernetesError} LAMEDUCK_NO_SUCH_TARGET */
export async function readPod(client: KubernetesClient, pod: PodName, signal: AbortSignal): Promise<Pod> {
  try {
    return await client.get<Pod>(pathOf(pod), signal);
  } catch (error) {
    if (!hasStatus(error, 404)) throw error;
    const place = `pod/${pod.name} in namespace ${pod.namespace}`;
    throw new KubernetesError("LAMEDUCK_NO_SUCH_TARGET", place, "it does not exist");
  }
}

/** @throws {CliError} where nothing can hold. */
export function mustBeTerminating({ metadata }: Pod): void {
  if (metadata.deletionTimestamp !== undefined) return;
  const isHeld = metadata.labels?.[heldMark] !== undefined || metadata.annotations?.[heldMark] !== undefined;
  throw new CliError(
    "LAMEDUCK_NOT_TERMINATING",
    `pod/${metadata.name}`,
    isHeld
      ? `its deletion waits before it begins (held deletions); kubectl delete pod ${metadata.name} --grace-period=0 --force goes past that`
      : "it is not being deleted, so it holds nothing",
  );
}

/** Containers that run, and so may hold; sidecars among the init containers, too. */
export function runningContainers({ spec, status = {} }: Pod): readonly RunningContainer[] {
  const states = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])];
  const running = new Map(
    states.flatMap(({ name, state, containerID = "" }) =>
      state?.running === undefined ? [] : [[name, containerID.replace(/^.*:\/\//, "").slice(0, 13)] as const],
    ),
  );
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always");
  return [...spec.containers, ...sidecars]
    .filter(({ name }) => running.has(name))
    .map(({ name, env = [], command = [], lifecycle }) => {
      const words = [command[0] ?? "", lifecycle?.preStop?.exec?.command?.[0] ?? ""];
      return {
        name,
        id: running.get(name) ?? "",
        coordinator: env.find((one) => one.name === coordinatorVariable)?.value || undefined,
        binaries: words.filter((word) => word.split("/").at(-1) === "lameduck-init"),
      };
    });
}

/** Whether a container of this pod still runs; a pod that is gone has none. */
export async function stillRuns(
  client: KubernetesClient,
  pod: PodName,
  { uid, container }: { readonly uid: string; readonly container: string },
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const now = await client.get<Pod>(pathOf(pod), signal);
    return now.metadata.uid === uid && runningContainers(now).some(({ name }) => name === container);
  } catch (error) {
    if (hasStatus(error, 404)) return false;
    throw error;
  }
}

import type { ContainerStatus, Pod } from "@lameduck/kube";
import { InClusterError } from "./errors.ts";
import type { Kube } from "./options.ts";
import { containerName } from "./manifests.ts";

/** How long a pod may find no node: an autoscaler may be adding a node. */
const timeoutForNodesMs = 20_000;
/** A registry that did not answer at once may do so the second time. */
const timeoutForImagesMs = 10_000;

const permanent = new Set([
  "ImagePullBackOff",
  "InvalidImageName",
  "ErrImageNeverPull",
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
  "CrashLoopBackOff",
  "StartError",
]);

/** The container that sends the load. Meshes add theirs at admission, often before it. */
export function loadContainer(status: Pod["status"]): ContainerStatus | undefined {
  return status?.containerStatuses?.find(({ name }) => name === containerName);
}

/** Why a pod will not begin, as its status says. @param waited milliseconds since it was asked for */
export function whyNotBegun({ metadata, status }: Pod, waited: number): InClusterError | undefined {
  const error = (problem: string): InClusterError =>
    new InClusterError("LAMEDUCK_IN_CLUSTER_NOT_STARTED", `pod ${metadata.name}`, problem);
  const container = loadContainer(status);
  // A container of others can keep it from beginning only if it waits for that container.
  for (const { name, state } of [
    ...(status?.initContainerStatuses ?? []),
    ...(container ? [container] : []),
  ]) {
    const { reason, message } = state?.waiting ?? {};
    const pulling = reason === "ErrImagePull" && waited > timeoutForImagesMs;
    if (reason === undefined || !(pulling || permanent.has(reason))) continue;
    const whose = name === containerName ? "" : `container ${name}: `;
    return error(`${whose}${reason}${message ? `: ${message}` : ""}`);
  }
  const { terminated } = container?.state ?? {};
  if (terminated)
    return error(
      `it ended with exit code ${terminated.exitCode} (${terminated.reason ?? "no reason given"})`,
    );
  const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status === "False" && waited > timeoutForNodesMs)
    return error(`${scheduled.reason ?? "not scheduled"}: ${scheduled.message ?? ""}`);
  return undefined;
}

interface WarningEvent {
  readonly reason?: string;
  readonly message?: string;
  readonly type?: string;
}

/** What is refused so is refused again: a quota, Pod Security, an admission webhook that answered. */
const refusal = /exceeded quota|failed quota|violates PodSecurity|denied the request/;

/** Whether waiting is no use. */
export function isRefusal(warning: string): boolean {
  return refusal.test(warning);
}

/** How far a pod has come that has not begun: what its status says, and the last warning about it. */
export async function standingOf(kube: Kube, namespace: string, { metadata, status }: Pod): Promise<string> {
  const waiting = (status?.initContainerStatuses ?? [])
    .concat(loadContainer(status) ?? [])
    .map(({ state }) => state?.waiting?.reason)
    .find((reason) => reason !== undefined);
  const isRunning = loadContainer(status)?.state?.running !== undefined;
  const stands = isRunning ? "runs, and its log says nothing yet" : (waiting ?? status?.phase ?? "unknown");
  const warning = await lastWarning(kube, namespace, { kind: "Pod", name: metadata.name });
  return `pod ${metadata.name}: ${stands}${warning === "" ? "" : ` (${warning})`}`;
}

/** What went wrong last. Why a Job has no pods, quotas and admission report in its events. Empty without the right to read those. */
export async function lastWarning(
  kube: Kube,
  namespace: string,
  { kind, name }: { readonly kind: string; readonly name: string },
): Promise<string> {
  const selector = encodeURIComponent(`involvedObject.kind=${kind},involvedObject.name=${name}`);
  try {
    const { items } = await kube.get<{ items: WarningEvent[] }>(
      `/api/v1/namespaces/${namespace}/events?fieldSelector=${selector}`,
    );
    return items.findLast(({ type }) => type === "Warning")?.message ?? "";
  } catch {
    return "";
  }
}

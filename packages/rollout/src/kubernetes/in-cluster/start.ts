import type { Pod } from "../client/objects.ts";
import { InClusterError } from "./errors.ts";
import type { Kube } from "./kube.ts";

/** A node may be on its way. */
const patienceForNodes = 20_000;
/** A registry that did not answer at once may do so the second time. */
const patienceForImages = 10_000;

const hopeless = new Set([
  "ImagePullBackOff",
  "InvalidImageName",
  "ErrImageNeverPull",
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
  "CrashLoopBackOff",
  "StartError",
]);

/** Why a pod will not begin, as far as its object tells. @param waited milliseconds since it was asked for */
export function whyNotBegun({ metadata, status }: Pod, waited: number): InClusterError | undefined {
  const error = (problem: string): InClusterError =>
    new InClusterError("LAMEDUCK_IN_CLUSTER_NOT_STARTED", `pod ${metadata.name}`, problem);
  const [container] = status?.containerStatuses ?? [];
  const { waiting, terminated } = container?.state ?? {};
  const pulling = waiting?.reason === "ErrImagePull" && waited > patienceForImages;
  if (waiting?.reason !== undefined && (pulling || hopeless.has(waiting.reason)))
    return error(`${waiting.reason}${waiting.message ? `: ${waiting.message}` : ""}`);
  if (terminated)
    return error(
      `it ended with exit code ${terminated.exitCode} (${terminated.reason ?? "no reason given"})`,
    );
  const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status === "False" && waited > patienceForNodes)
    return error(`${scheduled.reason ?? "not scheduled"}: ${scheduled.message ?? ""}`);
  return undefined;
}

interface JobEvent {
  readonly reason?: string;
  readonly message?: string;
  readonly type?: string;
}

/** Why there are no pods: quotas and admission tell it in the Job's events. Nothing, where those may not be read. */
export async function jobWarnings(kube: Kube, namespace: string, job: string): Promise<string> {
  const selector = encodeURIComponent(`involvedObject.kind=Job,involvedObject.name=${job}`);
  try {
    const { items } = await kube.get<{ items: JobEvent[] }>(
      `/api/v1/namespaces/${namespace}/events?fieldSelector=${selector}`,
    );
    return items.findLast(({ type }) => type === "Warning")?.message ?? "";
  } catch {
    return "";
  }
}

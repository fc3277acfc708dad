import { messageOf } from "@lameduck/drain/common";
import { applyPatch } from "@lameduck/inject";
import { ApiFailure, type KubernetesClient, type Pod } from "@lameduck/kube";
import { inBatches } from "../install/objects.ts";
import type { Judged } from "../cluster/held.ts";
import type { NotKnown } from "./not-known.ts";

/** Whether the API server would admit an injected pod, as a dry run shows it. */
export interface Admission {
  readonly namespace: string;
  /** Of the namespace's workloads the one that would get the longest grace period. */
  readonly workload: string;
  /** `changed`: with another grace period than asked for. */
  readonly verdict: "admitted" | "changed" | "refused";
  /** What the API server says, or has changed. */
  readonly because: string | undefined;
}

const longestMessage = 300;

/** One pod of each namespace, made as a dry run: nothing is stored. */
export async function admissionsOf(
  client: KubernetesClient,
  judged: readonly Judged[],
  signal: AbortSignal,
): Promise<{ readonly admissions: Admission[]; readonly notKnown: NotKnown[] }> {
  const notKnown: NotKnown[] = [];
  const candidates = judged.filter(({ patch }) => patch.length > 0);
  const chosen = [...Map.groupBy(candidates, ({ held }) => held.namespace).values()].flatMap((all) =>
    all.toSorted((a, b) => (b.held.grace?.seconds ?? 0) - (a.held.grace?.seconds ?? 0)).slice(0, 1),
  );
  const admissions = await inBatches(
    chosen,
    async ({ held, workload, patch }): Promise<Admission | undefined> => {
      const { namespace, name, grace } = held;
      const common = { namespace, workload: name };
      const plain = asNew(workload.pod);
      const injected = await dryRun(client, namespace, applyPatch(plain, patch) as Pod, signal);
      if (!(injected instanceof ApiFailure)) {
        const got = injected.spec.terminationGracePeriodSeconds;
        return got === grace?.seconds
          ? { ...common, verdict: "admitted", because: undefined }
          : {
              ...common,
              verdict: "changed",
              because: `something sets its grace period to ${got} s, where ${grace?.seconds} s were asked for: a hold that lasts to its cap is cut off by SIGKILL`,
            };
      }
      const unknown = (because: string, right?: NotKnown["right"]): undefined => {
        const what = `whether an injected pod is admitted in namespace ${namespace}`;
        notKnown.push({ what, because, ...(right ? { right } : {}) });
      };
      if (isWithoutRight(injected))
        return unknown("pods may not be created there, and a dry run needs that right, too", {
          group: "",
          resource: "pods",
          verbs: ["create"],
        });
      // What refuses the pod as it is says nothing of Lameduck.
      const before = await dryRun(client, namespace, plain, signal);
      const said = messageOf(injected).slice(0, longestMessage);
      if (before instanceof ApiFailure)
        return unknown(`such a pod is refused without Lameduck, too: ${said}`);
      return { ...common, verdict: "refused", because: said };
    },
  );
  return { admissions: admissions.filter((one) => one !== undefined), notKnown };
}

/** The API server's authorisation says this, and no admission rule. */
export function isWithoutRight(failure: ApiFailure): boolean {
  return (
    failure.status === 401 ||
    (failure.status === 403 && /cannot create resource "pods"/.test(failure.message))
  );
}

/** What becomes of a pod, or why it is refused. */
export async function dryRun(
  client: KubernetesClient,
  namespace: string,
  pod: Pod,
  signal: AbortSignal,
): Promise<Pod | ApiFailure> {
  try {
    return await client.post<Pod>(`/api/v1/namespaces/${namespace}/pods?dryRun=All`, pod, signal);
  } catch (error) {
    // A server that fails or is overloaded says nothing of the pod.
    if (error instanceof ApiFailure && error.status >= 400 && error.status < 500 && error.status !== 429)
      return error;
    throw error;
  }
}

/** A pod as it came to admission, as far as one that runs shows it. */
function asNew({ metadata, spec }: Pod): Pod {
  const { labels, annotations } = metadata;
  const {
    nodeName: _,
    ephemeralContainers: __,
    ...rest
  } = spec as Pod["spec"] & {
    readonly ephemeralContainers?: unknown;
  };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { generateName: "lameduck-check-", labels, annotations },
    spec: rest,
  } as unknown as Pod;
}

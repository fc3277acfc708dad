import { probeAnnotation } from "@lameduck/protocol";
import { ApiFailure, type KubernetesClient, type Pod } from "@lameduck/kube";
import type { Injector } from "./injector.ts";

/** As Pod Security "restricted" and a quota ask for it. It is never kept: admission does not tell a dry run from others. */
const pod = (by: Injector["by"]): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { generateName: "lameduck-probe-", annotations: { [probeAnnotation]: by } },
  spec: {
    securityContext: { runAsNonRoot: true, runAsUser: 65_532, seccompProfile: { type: "RuntimeDefault" } },
    containers: [
      {
        name: "probe",
        image: "registry.k8s.io/pause:3.10",
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
        resources: {
          requests: { cpu: "10m", memory: "16Mi" },
          limits: { cpu: "10m", memory: "16Mi" },
        },
      },
    ],
  },
});

/**
 * Has an API server admit a pod as a dry run.
 * @returns whether the injector has seen it, in its present revision.
 */
export async function isSeen(
  client: KubernetesClient,
  { by, revision }: Injector,
  namespace: string,
  signal: AbortSignal,
): Promise<boolean> {
  const path = `/api/v1/namespaces/${namespace}/pods?dryRun=All`;
  const { metadata } = await client.postOnce<Pod>(path, pod(by), signal);
  const answer = metadata.annotations?.[probeAnnotation];
  return revision === undefined ? answer !== undefined && answer !== by : answer === revision;
}

/** No right, no quota, or another admission rule: a retry would get the same answer. */
export function isRefusal(error: unknown): error is ApiFailure {
  return error instanceof ApiFailure && error.status >= 400 && error.status < 500 && error.status !== 429;
}

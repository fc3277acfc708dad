import { injectLabel, injectLabelValue, operatorNames } from "@lameduck/operator";
import type { KubernetesClient, KubernetesObject, Pod, Service, Workload } from "@lameduck/kube";
import { version } from "../../about.ts";
import { factsOf, orUndefined, policyOf } from "../facts.ts";
import { helmRelease } from "../helm.ts";
import { readCoordinator, type ReplicaStatus } from "./coordinator.ts";
import { judge, type JudgedPod, type Surroundings } from "./judge.ts";

export interface NamespaceStatus {
  readonly name: string;
  /** lameduck-init is there for pods to mount. */
  readonly hasCarrier: boolean;
  readonly pods: readonly JudgedPod[];
}

export interface Status {
  readonly command: string;
  readonly namespace: string;
  readonly helm: string | undefined;
  readonly operator:
    { readonly version: string; readonly ready: number; readonly replicas: number } | undefined;
  /** The API server calls the webhook: it is registered, and its authority is known. */
  readonly webhook: "called" | "without authority" | undefined;
  readonly policy: boolean;
  /** Replicas of the coordinator; none where acknowledgements are off. */
  readonly coordinator: readonly ReplicaStatus[];
  readonly namespaces: readonly NamespaceStatus[];
}

const admission = "/apis/admissionregistration.k8s.io/v1";

/** Everything that `lameduck status` tells, as it stands in the cluster. */
export async function readStatus(
  client: KubernetesClient,
  namespace: string,
  signal: AbortSignal,
): Promise<Status> {
  const get = <T>(path: string): Promise<T | undefined> => orUndefined(client.get<T>(path, signal));
  const deployments = `/apis/apps/v1/namespaces/${namespace}/deployments`;
  const [deployment, webhook, policy, helm] = await Promise.all([
    get<Workload>(`${deployments}/${operatorNames.workload}`),
    get<WebhookConfiguration>(`${admission}/mutatingwebhookconfigurations/${operatorNames.configuration}`),
    get(`${admission}/mutatingadmissionpolicies/${operatorNames.webhooks.inject}`),
    helmRelease(client),
  ]);
  return {
    command: version(),
    namespace,
    helm,
    operator: deployment && operatorOf(deployment),
    webhook: webhook && (isTrusted(webhook) ? "called" : "without authority"),
    policy: policy !== undefined,
    coordinator: await readCoordinator(client, namespace, signal),
    namespaces: await namespacesOf(client, namespace, signal),
  };
}

interface WebhookConfiguration {
  readonly webhooks?: readonly { readonly clientConfig: { readonly caBundle?: string } }[];
}

const isTrusted = ({ webhooks = [] }: WebhookConfiguration): boolean =>
  webhooks.length > 0 && webhooks.every(({ clientConfig }) => (clientConfig.caBundle ?? "") !== "");

function operatorOf({ metadata, spec, status }: Workload): Status["operator"] {
  return {
    version: metadata.labels?.["app.kubernetes.io/version"] ?? "unknown",
    ready: status?.availableReplicas ?? 0,
    replicas: spec.replicas ?? 1,
  };
}

async function namespacesOf(
  client: KubernetesClient,
  ofLameduck: string,
  signal: AbortSignal,
): Promise<NamespaceStatus[]> {
  const selector = encodeURIComponent(`${injectLabel}=${injectLabelValue}`);
  const [labelled, facts, clusterPolicy] = await Promise.all([
    client.list<KubernetesObject>(`/api/v1/namespaces?labelSelector=${selector}`, signal),
    factsOf(client, signal),
    policyOf(client, ofLameduck, signal),
  ]);
  return Promise.all(
    labelled.map(async ({ metadata: { name, labels = {} } }) => {
      const within = `/api/v1/namespaces/${name}`;
      const [pods, services, carrier, namespacePolicy] = await Promise.all([
        client.list<Pod>(`${within}/pods`, signal),
        client.list<Service>(`${within}/services`, signal),
        orUndefined(client.get(`${within}/configmaps/${operatorNames.carrierConfigMap}`, signal)),
        policyOf(client, name, signal),
      ]);
      const around: Surroundings = {
        namespace: name,
        labels,
        ofLameduck,
        services,
        policies: { namespacePolicy, clusterPolicy },
        facts,
      };
      const running = pods.filter(
        ({ metadata, status }) =>
          metadata.deletionTimestamp === undefined && !/Succeeded|Failed/.test(status?.phase ?? ""),
      );
      return {
        name,
        hasCarrier: carrier !== undefined,
        pods: running.map((pod) => judge(pod, around)),
      };
    }),
  );
}

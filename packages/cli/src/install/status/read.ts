import {
  declining,
  injectedAnnotation,
  injectLabel,
  injectLabelValue,
  mountsCarrier,
  operatorNames,
  type MountingPod,
} from "@lameduck/operator";
import type { Condition, KubernetesClient, KubernetesObject, Pod, Service, Workload } from "@lameduck/kube";
import { version } from "../../about.ts";
import { carrierState, type CarrierConfigMap, type CarrierState } from "../carrier.ts";
import { factsOf, ifReadable, policyOf } from "../facts.ts";
import { helmRelease } from "../place.ts";
import { readCoordinator, type ReplicaStatus } from "./coordinator.ts";
import { injectorOfPolicy, injectorOfWebhook } from "../trial/injector.ts";
import { tried, type Trial } from "../trial/trial.ts";
import { judge, type JudgedPod, type Surroundings } from "./judge.ts";
import { inBatches } from "../objects.ts";

export interface NamespaceStatus {
  readonly name: string;
  /** The ConfigMap from which pods mount lameduck-init. */
  readonly carrier: CarrierState;
  /** An injected pod mounts it. */
  readonly needsCarrier: boolean;
  readonly pods: readonly JudgedPod[];
  /** What the operator has found of workloads that will lose requests; undefined where it has found none, or does not look. */
  readonly losing: string | undefined;
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
  /** What dry runs show of each policy and of the webhook. */
  readonly trials: readonly Trial[];
  /** Replicas of the coordinator; none where acknowledgements are off. */
  readonly coordinator: readonly ReplicaStatus[];
  readonly namespaces: readonly NamespaceStatus[];
  /** Namespaces whose label is neither yes nor no. */
  readonly mislabelled: readonly { readonly name: string; readonly value: string }[];
}

const admission = "/apis/admissionregistration.k8s.io/v1";
const ownPolicies = `${admission}/mutatingadmissionpolicies?labelSelector=${encodeURIComponent("app.kubernetes.io/name=lameduck")}`;

/** Everything that `lameduck status` reports, read from the cluster. */
export async function readStatus(
  client: KubernetesClient,
  namespace: string,
  signal: AbortSignal,
): Promise<Status> {
  const get = <T>(path: string): Promise<T | undefined> => ifReadable(client.get<T>(path, signal));
  const deployments = `/apis/apps/v1/namespaces/${namespace}/deployments`;
  const [deployment, webhook, policies, helm, namespaces, mistaken] = await Promise.all([
    get<Workload>(`${deployments}/${operatorNames.workload}`),
    get<WebhookConfiguration>(`${admission}/mutatingwebhookconfigurations/${operatorNames.configuration}`),
    ifReadable(client.list<KubernetesObject>(ownPolicies, signal)),
    helmRelease(client),
    namespacesOf(client, namespace, signal),
    mislabelled(client, signal),
  ]);
  const injectors = [
    ...(policies ?? []).map(injectorOfPolicy),
    ...(deployment && webhook ? [injectorOfWebhook(webhook)] : []),
  ];
  const labelled = namespaces.map(({ name }) => name);
  return {
    command: version(),
    namespace,
    helm,
    operator: deployment && operatorOf(deployment),
    webhook: webhook && (isTrusted(webhook) ? "called" : "without authority"),
    policy: policies !== undefined && policies.length > 0,
    trials: await Promise.all(injectors.map((one) => tried(client, one, { labelled, within: 0, signal }))),
    coordinator: await readCoordinator(client, namespace, signal),
    namespaces,
    mislabelled: mistaken,
  };
}

/** Namespaces whose label has an invalid value. */
async function mislabelled(client: KubernetesClient, signal: AbortSignal): Promise<Status["mislabelled"]> {
  const all = await client.list<KubernetesObject>(
    `/api/v1/namespaces?labelSelector=${encodeURIComponent(injectLabel)}`,
    signal,
  );
  return all
    .map(({ metadata: { name, labels = {} } }) => ({ name, value: labels[injectLabel] ?? "" }))
    .filter(({ value }) => ![injectLabelValue, ...declining].includes(value));
}

interface WebhookConfiguration extends KubernetesObject {
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
  return inBatches(labelled, async ({ metadata: { name, labels = {} } }) => {
    const within = `/api/v1/namespaces/${name}`;
    const [pods, services, carrier, namespacePolicy] = await Promise.all([
      client.list<Pod & MountingPod>(`${within}/pods`, signal),
      client.list<Service>(`${within}/services`, signal),
      ifReadable(
        client.get<CarrierConfigMap>(`${within}/configmaps/${operatorNames.carrierConfigMap}`, signal),
      ),
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
      carrier: carrierState(carrier),
      needsCarrier: running.some(
        (pod) => pod.metadata.annotations?.[injectedAnnotation] !== undefined && mountsCarrier(pod),
      ),
      pods: running.map((pod) => judge(pod, around)),
      losing: losingIn(namespacePolicy),
    };
  });
}

/** The message of the condition that the operator writes to a DrainPolicy. */
function losingIn(policy: unknown): string | undefined {
  const { status } = (policy ?? {}) as { readonly status?: { readonly conditions?: readonly Condition[] } };
  const found = status?.conditions?.find(({ type }) => type === "LosesRequests");
  return found?.status === "True" ? found.message : undefined;
}

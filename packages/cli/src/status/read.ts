import { declining, formerSleepIn, injectedAnnotation, injectLabel, operatorNames } from "@lameduck/protocol";
import { injectLabelValue } from "@lameduck/inject";
import { mountsInitVolume } from "@lameduck/webhook";
import {
  type Condition,
  type Event,
  type KubernetesClient,
  type KubernetesObject,
  type Pod,
  orUndefined,
  ServerClock,
  type Service,
  type Workload,
} from "@lameduck/kube";
import { version } from "../about.ts";
import { badOption } from "../errors.ts";
import { initVolumeState, type InitVolumeConfigMap, type InitVolumeState } from "../install/init-volume.ts";
import { factsOf, ifReadable, policyOf } from "../cluster/facts.ts";
import { helmRelease } from "../install/place.ts";
import { judgeWorkload, type HeldWorkload } from "../cluster/held.ts";
import { readPaths, workloadsOf } from "../cluster/reading.ts";
import { componentOf, podsOf, type ComponentStatus } from "../install/component.ts";
import { readAcknowledgements, readTerminating, type AcknowledgementStatus } from "./coordinator.ts";
import { terminatingNow, type TerminatingNow } from "./terminating.ts";
import { injectorOfPolicy, injectorOfWebhook } from "../install/injector.ts";
import { tried, type Trial } from "../install/trial.ts";
import { lateReports, savableIn, savedIn, type SavableTime, type SavedTime } from "../report/saved.ts";
import { judge, type JudgedPod, type Surroundings } from "./judge.ts";
import { inBatches } from "../install/objects.ts";

export interface NamespaceStatus {
  readonly name: string;
  /** Its label asks for injection. */
  readonly isEnabled: boolean;
  /** The ConfigMap from which pods mount lameduck-init. */
  readonly initVolume: InitVolumeState;
  /** What the operator has told of it lately: that it is refused, or that somebody had changed it. */
  readonly initVolumeNews: string | undefined;
  /** An injected pod mounts it. */
  readonly needsInitVolume: boolean;
  readonly pods: readonly JudgedPod[];
  /** Cap and grace period of each workload, and how they come about. */
  readonly held: readonly HeldWorkload[];
  /** What the operator has found of workloads that will lose requests. Undefined where it has found none or does not look. */
  readonly losing: string | undefined;
  /** Pods in which a hold has replaced a sleep, with what the records of the last day say of them. Undefined where there are no such pods. */
  readonly formerSleeps: { readonly pods: number; readonly lately: SavedTime | undefined } | undefined;
  /** What a hold would have saved in the last day where pods sleep by a hook of their own. Undefined where no record says it. */
  readonly savable: SavableTime | undefined;
  /** What the operator says of its DrainPolicy. */
  readonly policy: readonly string[];
}

export interface Status {
  readonly command: string;
  readonly namespace: string;
  readonly helm: string | undefined;
  /** Only one namespace was looked at, with the rights of its tenants: nothing is known of the rest. */
  readonly isOfTenant: boolean;
  readonly operator: ComponentStatus | undefined;
  /** The API server calls the webhook: it is registered, and its authority is known. */
  readonly webhook: "called" | "without authority" | undefined;
  readonly policy: boolean;
  /** What dry runs show of each policy and of the webhook. */
  readonly trials: readonly Trial[];
  /** Undefined where they are off. */
  readonly acknowledgements: AcknowledgementStatus | undefined;
  readonly namespaces: readonly NamespaceStatus[];
  /** Namespaces whose label is neither yes nor no. */
  readonly mislabelled: readonly { readonly name: string; readonly value: string }[];
  /** Pods of labelled namespaces that terminate now; undefined where nobody asked. */
  readonly terminating: readonly TerminatingNow[] | undefined;
}

interface Read {
  readonly status: NamespaceStatus;
  /** Pods that are being deleted. */
  readonly leaving: readonly Pod[];
}

const admission = "/apis/admissionregistration.k8s.io/v1";
const ownPolicies = `${admission}/mutatingadmissionpolicies?labelSelector=${encodeURIComponent("app.kubernetes.io/name=lameduck")}`;

/**
 * Everything that `lameduck status` reports, read from the cluster.
 * @param namespace Lameduck's own, or another one: then only that is looked at.
 */
export async function readStatus(
  client: KubernetesClient,
  namespace: string,
  { pods: withPods = false }: { readonly pods?: boolean | undefined },
  signal: AbortSignal,
): Promise<Status> {
  const clock = ServerClock.of(client);
  const get = <T>(path: string): Promise<T | undefined> => ifReadable(client.get<T>(path, signal));
  const deployments = `/apis/apps/v1/namespaces/${namespace}/deployments`;
  const [deployment, webhook, policies, helm] = await Promise.all([
    get<Workload>(`${deployments}/${operatorNames.workload}`),
    get<WebhookConfiguration>(`${admission}/mutatingwebhookconfigurations/${operatorNames.configuration}`),
    ifReadable(client.list<KubernetesObject>(ownPolicies, signal)),
    helmRelease(client),
  ]);
  const isOwn = namespace === operatorNames.namespace || deployment !== undefined;
  const isOfTenant =
    !isOwn && ((policies ?? []).length === 0 || (await isLabelled(client, namespace, signal)));
  const [read, mistaken, operatorPods] = await Promise.all([
    isOfTenant ? namespaceAlone(client, namespace, signal) : namespacesOf(client, namespace, signal),
    isOfTenant ? [] : mislabelled(client, signal),
    deployment ? podsOf(client, namespace, "webhook", signal) : [],
  ]);
  const injectors = [
    ...(policies ?? []).map(injectorOfPolicy),
    ...(deployment && webhook ? [injectorOfWebhook(webhook)] : []),
  ];
  const labelled = read.flatMap(({ status: { name, isEnabled } }) => (isEnabled ? [name] : []));
  const isTold = JSON.stringify(deployment?.spec.template ?? {}).includes('"--coordinator=');
  const acknowledgements = isOfTenant
    ? undefined
    : await readAcknowledgements(client, namespace, isTold, signal);
  const known = withPods
    ? await readTerminating(client, namespace, acknowledgements?.replicas ?? [], signal)
    : undefined;
  const byUid = new Map((known?.pods ?? []).map((one) => [one.uid, one]));
  return {
    command: version(),
    namespace,
    helm,
    isOfTenant,
    operator: deployment && componentOf(deployment, operatorPods),
    webhook: webhook && (isTrusted(webhook) ? "called" : "without authority"),
    policy: policies !== undefined && policies.length > 0,
    trials: isOfTenant
      ? []
      : await Promise.all(injectors.map((one) => tried(client, one, { labelled, within: 0, signal }))),
    acknowledgements,
    namespaces: read.map(({ status }) => status),
    mislabelled: mistaken,
    terminating: withPods
      ? read.flatMap(({ leaving }) =>
          leaving.map((pod) => terminatingNow(pod, byUid.get(pod.metadata.uid), clock.now())),
        )
      : undefined,
  };
}

async function isLabelled(client: KubernetesClient, name: string, signal: AbortSignal): Promise<boolean> {
  const found = await ifReadable(client.get<KubernetesObject>(`/api/v1/namespaces/${name}`, signal));
  return found?.metadata.labels?.[injectLabel] === injectLabelValue;
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

async function namespacesOf(
  client: KubernetesClient,
  ofLameduck: string,
  signal: AbortSignal,
): Promise<Read[]> {
  const selector = encodeURIComponent(`${injectLabel}=${injectLabelValue}`);
  const labelled = await client.list<KubernetesObject>(
    `/api/v1/namespaces?labelSelector=${selector}`,
    signal,
  );
  return readEach(client, labelled, ofLameduck, signal);
}

/** The status as a tenant of one namespace can see it. @throws {CliError} LAMEDUCK_BAD_OPTION where there is no such namespace. */
async function namespaceAlone(client: KubernetesClient, name: string, signal: AbortSignal): Promise<Read[]> {
  const path = `/api/v1/namespaces/${name}`;
  const there = await orUndefined(client.get<KubernetesObject>(path, signal), 404);
  if (there === undefined) throw badOption("--namespace", `there is no namespace "${name}"`);
  return readEach(client, [there], operatorNames.namespace, signal);
}

async function readEach(
  client: KubernetesClient,
  namespaces: readonly KubernetesObject[],
  ofLameduck: string,
  signal: AbortSignal,
): Promise<Read[]> {
  const [facts, clusterPolicy, around] = await Promise.all([
    factsOf(client, signal),
    policyOf(client, ofLameduck, signal),
    readPaths(client, signal),
  ]);
  return inBatches(namespaces, async ({ metadata: { name, labels = {} } }) => {
    const within = `/api/v1/namespaces/${name}`;
    const [pods, services, initVolume, namespacePolicy, events] = await Promise.all([
      client.list<Pod>(`${within}/pods`, signal),
      client.list<Service>(`${within}/services`, signal),
      ifReadable(
        client.get<InitVolumeConfigMap>(`${within}/configmaps/${operatorNames.initConfigMap}`, signal),
      ),
      policyOf(client, name, signal),
      ifReadable(client.list<Event>(`${within}/events?${aboutInitVolume}`, signal)),
    ]);
    const surroundings: Surroundings = {
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
    const replaced = pods.filter(({ metadata }) => formerSleepIn(metadata.annotations) !== undefined).length;
    const judged = running.map((pod) => judge(pod, surroundings));
    const policies = new Map([
      [ofLameduck, clusterPolicy],
      [name, namespacePolicy],
    ]);
    const held = workloadsOf(running).map(
      (one) => judgeWorkload(one, { ...around, policies }, facts, ofLameduck).held,
    );
    const sleeps = new Map(
      judged.flatMap(({ workload, sleepSeconds }) =>
        sleepSeconds === undefined ? [] : [[workload, sleepSeconds] as const],
      ),
    );
    const reports =
      replaced + sleeps.size > 0
        ? await lateReports(client, name, ServerClock.of(client).now(), signal)
        : undefined;
    const savable = reports && savableIn(reports, sleeps);
    const leaving = pods.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
    const status = {
      name,
      isEnabled: labels[injectLabel] === injectLabelValue,
      initVolume: initVolumeState(initVolume),
      initVolumeNews: newsIn(events ?? [], initVolumeState(initVolume)),
      needsInitVolume: running.some(
        (pod) => pod.metadata.annotations?.[injectedAnnotation] !== undefined && mountsInitVolume(pod),
      ),
      pods: judged,
      held,
      formerSleeps: replaced === 0 ? undefined : { pods: replaced, lately: reports && savedIn(reports) },
      savable: savable && savable.terminations + savable.unknown > 0 ? savable : undefined,
      losing: conditionOf(namespacePolicy, "LosesRequests", "True"),
      policy: ["Accepted", "LeavesTime"].flatMap((type) => conditionOf(namespacePolicy, type, "False") ?? []),
    };
    return { status, leaving };
  });
}

const aboutInitVolume = `fieldSelector=${encodeURIComponent(`involvedObject.kind=ConfigMap,involvedObject.name=${operatorNames.initConfigMap}`)}`;

/** The last Event of the operator about the ConfigMap. The API server forgets Events after an hour. */
function newsIn(events: readonly Event[], state: InitVolumeState): string | undefined {
  const own = events.filter(
    ({ reason }) => reason === "InitVolumeChanged" || (reason === "InitVolumeRefused" && state !== "usable"),
  );
  const at = ({ lastTimestamp }: Event): string => lastTimestamp ?? "";
  return own.toSorted((a, b) => at(b).localeCompare(at(a)))[0]?.message;
}

/** The message of a condition that the operator writes to a DrainPolicy. */
function conditionOf(policy: unknown, type: string, is: "True" | "False"): string | undefined {
  const { status } = (policy ?? {}) as { readonly status?: { readonly conditions?: readonly Condition[] } };
  const found = status?.conditions?.find((one) => one.type === type);
  return found?.status === is ? found.message : undefined;
}

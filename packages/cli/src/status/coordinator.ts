import { operatorNames } from "@lameduck/protocol";
import type { CoordinatorStatus, TerminatingPods } from "@lameduck/coordinator";
import { messageOf, printable } from "@lameduck/drain/common";
import { count, whole } from "@lameduck/accounting/words";
import { selects, type KubernetesClient, type KubernetesObject, type LabelSelector } from "@lameduck/kube";
import { ifReadable } from "../cluster/facts.ts";
import { podsOf, readComponent, type ComponentStatus } from "../install/component.ts";

/** One replica of the coordinator, as it says itself. */
interface ReplicaStatus {
  readonly pod: string;
  readonly status: CoordinatorStatus | undefined;
  /** Why it could not be asked. */
  readonly problem: string | undefined;
}

/** Coordinator and watchers, where acknowledgements are on: pods are told of a coordinator, or there is one. */
export interface AcknowledgementStatus {
  readonly coordinator: ComponentStatus | undefined;
  readonly watcher: ComponentStatus | undefined;
  readonly replicas: readonly ReplicaStatus[];
  /** Pods that are made now are told of a coordinator. */
  readonly isTold: boolean;
  /** NetworkPolicies that may keep the question out, and whether they let others in. They are read where a replica could not be asked. */
  readonly closedBy: { readonly policies: readonly string[]; readonly letsSomeIn: boolean };
}

const { coordinator: names, watcher } = operatorNames;
/** A NetworkPolicy drops what it does not allow, and the API server tries for half a minute. */
const longestQuestionMs = 8_000;
const notRunning = "it does not run yet";

/** @param isTold whether the webhook tells pods of a coordinator. @returns undefined where acknowledgements are off. */
export async function readAcknowledgements(
  client: KubernetesClient,
  namespace: string,
  isTold: boolean,
  signal: AbortSignal,
): Promise<AcknowledgementStatus | undefined> {
  const [coordinator, watchers, replicas] = await Promise.all([
    readComponent(
      client,
      { resource: "deployments", namespace, name: names.workload, component: "coordinator" },
      signal,
    ),
    readComponent(
      client,
      { resource: "daemonsets", namespace: watcher.namespace, name: watcher.workload, component: "watcher" },
      signal,
    ),
    readReplicas(client, namespace, signal),
  ]);
  if (!isTold && coordinator === undefined && replicas.length === 0) return undefined;
  const isClosed = ({ problem }: ReplicaStatus): boolean => problem !== undefined && problem !== notRunning;
  const closedBy = replicas.some(isClosed)
    ? await closing(client, namespace, signal)
    : { policies: [], letsSomeIn: false };
  return { coordinator, watcher: watchers, replicas, isTold, closedBy };
}

/** The namespace of the coordinator that a pod asks, by the address that it was told. Undefined where it was told no address in a cluster. */
export function namespaceOfCoordinator(address = ""): string | undefined {
  return /^https?:\/\/[^./]+\.([^./]+)\.svc/.exec(address)?.[1];
}

/** Asks each replica through the API server's proxy. */
export async function readReplicas(
  client: KubernetesClient,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly ReplicaStatus[]> {
  const pods = await podsOf(client, namespace, "coordinator", signal);
  return Promise.all(
    pods.map(async ({ metadata: { name }, status: { phase } = {} }): Promise<ReplicaStatus> => {
      if (phase === "Pending") return { pod: name, status: undefined, problem: notRunning };
      const status = await asked<CoordinatorStatus>(client, namespace, name, names.paths.status, signal);
      if (typeof status === "string") return { pod: name, status: undefined, problem: status };
      return { pod: name, status, problem: undefined };
    }),
  );
}

/** The pods that terminate, as the first replica that answers knows them; undefined where none does. */
export async function readTerminating(
  client: KubernetesClient,
  namespace: string,
  replicas: readonly ReplicaStatus[],
  signal: AbortSignal,
): Promise<TerminatingPods | undefined> {
  for (const { pod, status } of replicas) {
    if (!status) continue;
    const answer = await asked<TerminatingPods>(client, namespace, pod, names.paths.terminating, signal);
    if (typeof answer !== "string") return answer;
  }
  return undefined;
}

/** @returns its answer, or why there is none. */
async function asked<T extends { readonly version: number }>(
  client: KubernetesClient,
  namespace: string,
  pod: string,
  path: string,
  signal: AbortSignal,
): Promise<T | string> {
  try {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(longestQuestionMs)]);
    const url = `/api/v1/namespaces/${namespace}/pods/${pod}:${names.ports.metrics}/proxy${path}`;
    const answer = await client.get<T>(url, limited);
    return answer.version === 1 ? answer : "its answer is of another version; use the command of its release";
  } catch (error) {
    if (signal.aborted) throw error;
    const isLate = (error as { name?: string }).name === "TimeoutError";
    return isLate ? `no answer within ${longestQuestionMs / 1_000} s` : messageOf(error);
  }
}

interface NetworkPolicy extends KubernetesObject {
  readonly spec?: {
    readonly podSelector?: LabelSelector;
    readonly policyTypes?: readonly string[];
    readonly ingress?: readonly {
      readonly ports?: readonly { readonly port?: number | string }[];
      readonly from?: readonly unknown[];
    }[];
  };
}

const ofCoordinator = { "app.kubernetes.io/name": "lameduck", "app.kubernetes.io/component": "coordinator" };

/** The policies of the namespace that hold for a coordinator, unless one of them opens the port of its metrics to everybody. */
async function closing(
  client: KubernetesClient,
  namespace: string,
  signal: AbortSignal,
): Promise<AcknowledgementStatus["closedBy"]> {
  const path = `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`;
  const all = (await ifReadable(client.list<NetworkPolicy>(path, signal))) ?? [];
  const own = all.filter(
    ({ spec }) =>
      spec?.policyTypes?.includes("Ingress") !== false && selects(spec?.podSelector ?? {}, ofCoordinator),
  );
  const opening = own
    .flatMap(({ spec }) => spec?.ingress ?? [])
    .filter(
      ({ ports }) =>
        ports === undefined || ports.some(({ port }) => port === "metrics" || port === names.ports.metrics),
    );
  const isOpen = opening.some(({ from = [] }) => from.length === 0);
  return { policies: isOpen ? [] : own.map(({ metadata }) => metadata.name), letsSomeIn: opening.length > 0 };
}

/** Whether pods are told when senders have let go. What could not be asked is not known to work. */
export function areWorking({ coordinator, watcher: watchers, replicas }: AcknowledgementStatus): boolean {
  const isWhole = (one: ComponentStatus | undefined): boolean => one !== undefined && one.ready >= one.wanted;
  return (
    isWhole(coordinator) &&
    replicas.length > 0 &&
    (watchers === undefined || (isWhole(watchers) && watchers.wanted > 0)) &&
    replicas.every(
      ({ status }) =>
        status !== undefined &&
        status.missing.length === 0 &&
        (status.unread ?? []).length === 0 &&
        status.consumers.every(({ isSilent, problem }) => !isSilent && problem === undefined),
    )
  );
}

/** Consumers that are named of each kind; more are counted. */
const mostNamed = 5;

export function* acknowledgementLines(
  { coordinator, watcher: watchers, replicas, closedBy }: AcknowledgementStatus,
  namespace: string,
): Generator<string> {
  yield `acknowledgements: ${countText("coordinator", coordinator)}${watchers === undefined ? "" : `, ${countText("watcher", watchers)}`}`;
  if (coordinator === undefined)
    yield `  Deployment ${names.workload} is not there, or may not be read: pods that were told of it decide by themselves; lameduck install --acknowledgements`;
  else if (coordinator.wanted === 0)
    yield `  the coordinator is scaled to 0: pods decide by themselves; kubectl scale deployment/${names.workload} -n ${namespace} --replicas=2`;
  for (const [what, one] of [
    ["coordinator", coordinator],
    ["watcher", watchers],
  ] as const)
    if (one) {
      for (const trouble of one.trouble) yield `  ${what}: ${printable(trouble)}`;
      if (one.former.length > 0) yield `  ${what}: in force meanwhile: ${one.former.join(", ")}`;
    }
  if (watchers?.wanted === 0)
    yield `  DaemonSet ${watcher.workload} wants no node: see its nodeSelector and tolerations`;
  for (const replica of replicas) yield* replicaLines(replica);
  const { policies, letsSomeIn } = closedBy;
  if (policies.length > 0)
    yield `  NetworkPolicy ${policies.join(", ")} lets ${letsSomeIn ? "only some" : "nobody"} in to port ${names.ports.metrics}, where status asks: lameduck install --metrics-from CIDR, with the API servers' addresses`;
}

const countText = (what: string, one: ComponentStatus | undefined): string =>
  one === undefined ? `no ${what}` : `${one.ready} of ${one.wanted} ${what}s ready`;

function* replicaLines({ pod, status, problem }: ReplicaStatus): Generator<string> {
  if (!status) {
    yield `  ${pod}: unknown, it could not be asked: ${problem}`;
    return;
  }
  const { consumers, missing, terminating, released, mode } = status;
  const silent = consumers.filter(({ isSilent }) => isSilent).map(({ name }) => name);
  const troubled = consumers.flatMap(({ name, behind, problem: own, reason }) => {
    const why = own ?? (behind > 0 ? reason : undefined);
    return why === undefined ? [] : [`    ${name}: ${printable(why)}`];
  });
  yield `  ${pod}: reports of ${count(consumers.length, "sender")}, mode ${mode} unless a namespace's DrainPolicy says otherwise; ${count(terminating, "pod")} terminating, ${released} of them released`;
  // A coordinator of the release before does not say these.
  for (const { who, version } of status.otherVersions ?? [])
    yield `    ${printable(who)} speaks version ${printable(version)} of the protocol, and is not understood: use releases one apart`;
  for (const { name, state, resource, problem } of status.unread ?? []) {
    const right = resource === undefined ? "" : `: let ${names.workload} list and watch ${resource}`;
    const why = problem === undefined ? "" : ` (${problem})`;
    yield `    ${printable(name)} ${unreadWords[state]}${printable(state === "refused" ? right : why)}`;
  }
  yield* unreportedLines(status.services);
  if (missing.length > 0)
    yield `    nobody reports for ${listed(missing)}: pods that they may send to decide by themselves`;
  if (silent.length > 0) yield `    silent: ${listed(silent)}`;
  yield* troubled.slice(0, mostNamed);
  const stuck = status.stuck ?? [];
  for (const { name, pod: last, pods, reason, agoMs } of stuck.slice(-mostNamed)) {
    const why = reason === undefined ? "" : ` (${printable(reason)})`;
    const more = pods === 1 ? "" : `, and to ${count(pods - 1, "more pod")} within the hour`;
    yield `    still sending: ${printable(name)} to ${printable(last)} 60 s after its end, ${Math.round(agoMs / 60_000)} min ago${why}${more}`;
  }
  if (stuck.length > mostNamed) yield `    still sending: ${count(stuck.length - mostNamed, "more sender")}`;
}

/** Whose pods are not released, and what to do about it. */
function* unreportedLines(found: CoordinatorStatus["services"]): Generator<string> {
  if (found === undefined || found.incomplete === 0) return;
  const { services, incomplete, senders } = found;
  yield `    pods of ${count(incomplete, "Service")} (of ${whole(services)}) are not released and decide by themselves: senders for which nothing reports`;
  for (const { need, who, shownBy, assumedSeconds, services: those } of senders.slice(0, mostNamed)) {
    const assumed = assumedSeconds && `${assumedSeconds} s are assumed`;
    const known = [who, shownBy && `shown by ${shownBy}`, assumed].filter(Boolean).join(", ");
    yield `      ${printable(need)}${known === "" ? "" : ` (${printable(known)})`}: ${count(those, "Service")}`;
  }
  if (senders.length > mostNamed) yield `      and ${senders.length - mostNamed} more`;
  yield `      run a watcher that serves it, or name it in sendsNothing of a DrainPolicy where it sends nothing: docs/reference/senders.md`;
}

const unreadWords = {
  waiting: "have not been read yet: nobody is released",
  refused: "may not be read: nobody is released",
  unheard: "are not kept up to date: nobody is released",
} as const;

function listed(all: readonly string[]): string {
  const more = all.length - mostNamed;
  return `${all.slice(0, mostNamed).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

import { operatorNames, type CoordinatorStatus } from "@lameduck/operator";
import { messageOf, printable } from "@lameduck/drain/common";
import type { KubernetesClient, Pod } from "@lameduck/kube";

/** One replica of the coordinator, as it says itself. */
export interface ReplicaStatus {
  readonly pod: string;
  readonly status: CoordinatorStatus | undefined;
  /** Why it could not be asked. */
  readonly problem: string | undefined;
}

/** Asks each replica through the API server's proxy. @returns none where none runs. */
export async function readCoordinator(
  client: KubernetesClient,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly ReplicaStatus[]> {
  const selector = encodeURIComponent(
    "app.kubernetes.io/name=lameduck,app.kubernetes.io/component=coordinator",
  );
  const within = `/api/v1/namespaces/${namespace}/pods`;
  const pods = await client.list<Pod>(`${within}?labelSelector=${selector}`, signal);
  const { paths, ports } = operatorNames.coordinator;
  return Promise.all(
    pods.filter(isStaying).map(async ({ metadata: { name } }): Promise<ReplicaStatus> => {
      try {
        const path = `${within}/${name}:${ports.metrics}/proxy${paths.status}`;
        const status = await client.get<CoordinatorStatus>(path, signal);
        if (status.version === 1) return { pod: name, status, problem: undefined };
        const problem = "its answer is of another version; use the command of its release";
        return { pod: name, status: undefined, problem };
      } catch (error) {
        if (signal.aborted) throw error;
        return { pod: name, status: undefined, problem: messageOf(error) };
      }
    }),
  );
}

/** One that is about to end may have lost its rights already. */
const isStaying = ({ metadata }: Pod): boolean => metadata.deletionTimestamp === undefined;

/** Named of each kind; the others are counted. */
const mostNamed = 5;

export function* coordinatorLines(replicas: readonly ReplicaStatus[]): Generator<string> {
  if (replicas.length === 0) return;
  yield `acknowledgements: ${replicas.length} ${replicas.length === 1 ? "coordinator" : "coordinators"}`;
  for (const { pod, status, problem } of replicas) {
    if (!status) {
      yield `  ${pod}: unknown, it could not be asked: ${problem}`;
      continue;
    }
    const { consumers, missing, terminating, released, mode } = status;
    const silent = consumers.filter(({ isSilent }) => isSilent).map(({ name }) => name);
    const troubled = consumers.flatMap(({ name, behind, problem, reason }) => {
      const why = problem ?? (behind > 0 ? reason : undefined);
      return why === undefined ? [] : [`    ${name}: ${printable(why)}`];
    });
    yield `  ${pod}: ${consumers.length} consumers report, mode ${mode} unless a namespace's DrainPolicy says otherwise; ${terminating} pods terminate, ${released} of them released`;
    // A coordinator of the release before does not say these.
    for (const { who, version } of status.otherVersions ?? [])
      yield `    ${printable(who)} speaks version ${printable(version)} of the protocol, and is not understood: use releases one apart`;
    for (const { name, state } of status.unread ?? []) yield `    ${name} ${unreadWords[state]}`;
    if (missing.length > 0)
      yield `    nobody reports for ${listed(missing)}: pods that they may send to decide by themselves`;
    if (silent.length > 0) yield `    silent: ${listed(silent)}`;
    yield* troubled.slice(0, mostNamed);
  }
}

const unreadWords = {
  waiting: "have not been read yet: nobody is released",
  refused: "may not be read: nobody is released",
  unheard: "are not kept up to date: pods that ask here are told that nothing is known",
} as const;

function listed(names: readonly string[]): string {
  const more = names.length - mostNamed;
  return `${names.slice(0, mostNamed).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

import { mostNamed, type Termination, workloadText } from "../../coordinator/termination.ts";
import { consumersOf, namesOf } from "./consumers.ts";
import { type ConsumerRecord, type DrainReport, type Moments, type Program } from "./drain-report.ts";
import type { Followed } from "./followed.ts";
import { wasKilled } from "./killed.ts";
import { readSaid, type Said } from "./said.ts";
import { summaryOf } from "./summary.ts";

/** A record without what the API server adds. */
export type NewReport = Omit<DrainReport, "metadata"> & {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
  };
};

/** All that is known of a termination that has ended. What was not told or seen is named, never filled in. */
export function describeTermination(termination: Termination, followed: Followed): NewReport {
  const said = readSaid(termination.said);
  const { origin } = followed;
  const consumers = consumersOf(followed.consumers ?? termination.consumers, origin);
  const program = programOf(said, termination, followed);
  const moments = momentsOf(termination, followed);
  const killed = wasKilled(termination);
  const body = {
    pod: {
      name: termination.name,
      uid: termination.uid,
      ...defined({ node: termination.node }),
      addresses: termination.addresses,
    },
    workload: workloadText(termination),
    program,
    deletedAt: new Date(origin).toISOString(),
    graceSeconds: termination.graceSeconds,
    moments,
    hold: defined({
      ms: said.heldMs,
      floorMs: said.floorMs,
      reason: said.reason,
      policy: said.policy,
      lastArrivalMs: said.lastArrivalMs,
      words: said.words,
    }),
    atRisk: defined({ connections: said.connections, requests: said.requests }),
    killed,
    ...defined({ overruledBy: termination.overruledBy ?? overruledIn(termination) }),
    ...(termination.tooEarly.length === 0 ? {} : { tooEarly: termination.tooEarly.slice(0, 20) }),
    consumers,
    containers: containersOf(termination, origin),
    unknown: unknownOf(termination, followed, said, consumers),
  };
  return {
    apiVersion: "lameduck.dev/v1alpha1",
    kind: "DrainReport",
    metadata: {
      name: nameOf(termination),
      namespace: termination.namespace,
      labels: { "app.kubernetes.io/managed-by": "lameduck" },
    },
    summary: summaryOf(body, consumers),
    ...body,
  };
}

/** The same whoever writes it, so that two replicas make one record; a StatefulSet's names come back, their uid does not. */
function nameOf({ name, uid }: Termination): string {
  const suffix = uid
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, "")
    .slice(0, 8);
  return `${name.slice(0, 244)}-${suffix}`;
}

function programOf({ program }: Said, { said }: Termination, { isWhole }: Followed): Program {
  if (program !== undefined) return program;
  const isMute = Object.keys(said).length === 0;
  return isMute && isWhole ? "none" : "unknown";
}

function momentsOf(termination: Termination, followed: Followed): Moments {
  const { withdrawnAt, releasedAt, exits, goneAt } = termination;
  const ends = exits.flatMap(({ finishedAt }) => finishedAt ?? []);
  const exitedAt = ends.length === exits.length && ends.length > 0 ? Math.max(...ends) : undefined;
  const after = (at: number | undefined): number | undefined =>
    at === undefined ? undefined : Math.max(0, Math.round(at - followed.origin));
  return defined({
    withdrawn: after(withdrawnAt),
    released: after(releasedAt),
    lameDuck: after(followed.lameDuckAt),
    closing: after(followed.closingAt),
    closed: after(followed.closedAt),
    exited: after(exitedAt),
    gone: after(goneAt),
  });
}

function containersOf({ exits }: Termination, origin: number): DrainReport["containers"] {
  return exits.map(({ container, exitCode, signal, reason, finishedAt }) => ({
    name: container,
    exitCode,
    ...defined({ signal: signal || undefined, reason }),
    ...(finishedAt === undefined ? {} : { exitedMs: Math.max(0, Math.round(finishedAt - origin)) }),
  }));
}

/** A pod may have said it to a replica that this one has not heard of otherwise. */
function overruledIn({ said }: Termination): string | undefined {
  return said["overruled"]?.replaceAll(/[^\w.:,%/ -]/g, "").slice(0, 100) || undefined;
}

function unknownOf(
  { withdrawnAt, exits }: Termination,
  { isWhole, closingAt }: Followed,
  { heldMs, connections, requests }: Said,
  consumers: readonly ConsumerRecord[],
): string[] {
  const missing = consumers.filter(({ state }) => state === "missing");
  return [
    ...(isWhole ? [] : ["before: the coordinator began to watch in the middle of the termination"]),
    ...(withdrawnAt === undefined ? ["withdrawn: no change of its endpoints was seen"] : []),
    ...(consumers.length >= mostNamed ? [`consumers: only the slowest ${mostNamed} are listed`] : []),
    ...(missing.length > 0 ? [`released: nothing reports for ${namesOf(missing)}`] : []),
    ...(heldMs === undefined && closingAt === undefined ? ["hold: nothing in the pod told it"] : []),
    ...(connections === undefined && requests === undefined
      ? ["atRisk: nothing in the pod told what arrived during the hold"]
      : []),
    ...(exits.length === 0 ? ["containers: the pod was gone before its exit was seen"] : []),
  ];
}

type Defined<T> = { readonly [Key in keyof T]?: Exclude<T[Key], undefined> };

function defined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}

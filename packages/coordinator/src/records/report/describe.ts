import type { ContainerExit } from "@lameduck/cluster";
import { withoutUndefined } from "@lameduck/drain/common";
import { apiVersion } from "@lameduck/protocol";
import { causeTexts, mostNamed, type TerminationView, workloadText } from "../../termination-view.ts";
import { consumersOf, missingText } from "./consumers.ts";
import type { ConsumerRecord, DrainReport, Moments, Program } from "./drain-report.ts";
import type { Followed } from "./followed.ts";
import { readMessages, type PodMessages } from "./pod-messages.ts";
import { summaryOf } from "./summary.ts";

/** A record without what the API server adds. */
export type NewReport = Omit<DrainReport, "metadata"> & {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
  };
};

/** Of those that the report names. */
const mostStuck = 20;

const notAsked = "no sender was asked";

/** The record of a termination that has ended. Unknown facts are listed as unknown, never guessed. */
export function describeTermination(termination: TerminationView, followed: Followed): NewReport {
  const messages = readMessages(termination.reported);
  const { origin, began } = followed;
  const { injected, mayBeProbe = false, falseAcknowledgers, stuck = [] } = termination;
  // Nobody is asked about a young pod, one that had finished, or one in its node's network.
  const isAsked = termination.sequence !== undefined || termination.withdrawnAt === undefined;
  const consumers = isAsked ? consumersOf(followed.consumers ?? termination.consumers, began) : [];
  const program = programOf(messages, termination, followed);
  const moments = momentsOf(termination, followed);
  const killed = wasKilled(termination);
  const mute = muteText(termination, followed);
  const body = {
    pod: withoutUndefined({
      name: termination.name,
      uid: termination.uid,
      node: termination.node,
      addresses: termination.addresses,
    }),
    workload: workloadText(termination),
    program,
    deletedAt: new Date(origin).toISOString(),
    graceSeconds: termination.graceSeconds,
    moments,
    hold: withoutUndefined({
      ms: messages.heldMs,
      floorMs: messages.floorMs,
      formerSleepMs: injected?.formerSleepMs,
      reason: messages.reason,
      policy: messages.policy,
      lastArrivalMs: messages.lastArrivalMs,
      words: messages.words,
    }),
    atRisk: withoutUndefined({ connections: messages.connections, requests: messages.requests }),
    killed,
    ...withoutUndefined({
      injected: injected && `${injected.what} of ${injected.version}`,
      ...(mayBeProbe
        ? {}
        : {
            overruledBy: termination.overruledBy ?? overruledIn(termination),
            overruler: termination.overruler,
          }),
    }),
    ...(falseAcknowledgers.length === 0 ? {} : { falseAcknowledgers: falseAcknowledgers.slice(0, 20) }),
    ...(stuck.length === 0 ? {} : { stuckConsumers: stuck.slice(0, mostStuck) }),
    consumers,
    containers: containersOf(termination, origin),
    unknown: [
      ...unknownOf(termination, followed, messages, consumers, mute),
      ...(isAsked ? [] : [`released: ${notAsked}`]),
    ],
  };
  return {
    apiVersion,
    kind: "DrainReport",
    metadata: {
      name: nameOf(termination),
      namespace: termination.namespace,
      labels: { "app.kubernetes.io/managed-by": "lameduck" },
    },
    summary: summaryOf(body, consumers, isAsked ? "no sender is known" : notAsked, mute),
    ...body,
  };
}

/** The record's name: the same in every replica, so that two of them make one record. With the UID, because a StatefulSet reuses names. */
function nameOf({ name, uid }: TerminationView): string {
  const suffix = uid
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, "")
    .slice(0, 8);
  return `${name.slice(0, 244)}-${suffix}`;
}

function programOf(
  { program }: PodMessages,
  { reported, injected }: TerminationView,
  { isWhole }: Followed,
): Program {
  if (program !== undefined) return program;
  const isMute = Object.keys(reported).length === 0;
  // What was injected may have held, without a way to say so.
  return isMute && isWhole && injected === undefined ? "none" : "unknown";
}

function momentsOf(termination: TerminationView, followed: Followed): Moments {
  const { withdrawnAt, releasedAt, exits, goneAt } = termination;
  const ends = exits.flatMap(({ finishedAt }) => finishedAt ?? []);
  const exitedAt = ends.length === exits.length && ends.length > 0 ? Math.max(...ends) : undefined;
  const after = (at: number | undefined, from = followed.began): number | undefined =>
    at === undefined ? undefined : Math.max(0, Math.round(at - from));
  return withoutUndefined({
    withdrawn: after(withdrawnAt),
    released: after(releasedAt),
    lameDuck: after(followed.lameDuckAt),
    closing: after(followed.closingAt),
    closed: after(followed.closedAt),
    exited: after(exitedAt, followed.origin),
    gone: after(goneAt),
  });
}

function containersOf({ exits }: TerminationView, origin: number): DrainReport["containers"] {
  return exits.map(({ container, exitCode, signal, reason, finishedAt }) =>
    withoutUndefined({
      name: container,
      exitCode,
      signal: signal || undefined,
      reason,
      exitedMs: finishedAt && Math.max(0, Math.round(finishedAt - origin)),
    }),
  );
}

/** The address in the pod's own report: another replica may have taken that report. */
function overruledIn({ reported }: TerminationView): string | undefined {
  return reported["overruled"]?.replaceAll(/[^\w.:,%/ -]/g, "").slice(0, 100) || undefined;
}

/** How the entry of `unknown` begins that says why there is no hold. */
export const holdUnknown = "hold: ";

function unknownOf(
  {
    withdrawnAt,
    releasedAt,
    because,
    exits,
    goneAt,
    finalizers,
    mayBeProbe = false,
    overruledBy = "an address",
  }: TerminationView,
  { isWhole, closingAt }: Followed,
  { heldMs, connections, requests }: PodMessages,
  consumers: readonly ConsumerRecord[],
  mute = "no report from the pod",
): string[] {
  const missing = consumers.filter(({ state }) => state === "missing");
  const why = releasedAt === undefined && because !== undefined ? causeTexts[because] : undefined;
  return [
    ...(isWhole ? [] : ["before: the coordinator began to watch in the middle of the termination"]),
    ...(withdrawnAt === undefined ? ["withdrawn: no change of its endpoints was seen"] : []),
    ...(consumers.length >= mostNamed ? [`senders: only the slowest ${mostNamed} are listed`] : []),
    ...(mayBeProbe
      ? [`overruled: a connection came from ${overruledBy}, of its own node, where the kubelet probes from`]
      : []),
    ...(why === undefined ? [] : [`released: ${why}`]),
    ...(missing.length > 0 ? [`released: nothing reports for ${missingText(missing)}`] : []),
    ...(heldMs === undefined && closingAt === undefined ? [`${holdUnknown}${mute}`] : []),
    ...(connections === undefined && requests === undefined
      ? ["atRisk: no report from the pod says what arrived during the hold"]
      : []),
    ...(goneAt === undefined && exits.length > 0
      ? [
          `gone: the containers have ended, and the object stays (finalizers: ${finalizers.join(", ") || "none"})`,
        ]
      : []),
    ...(exits.length === 0 ? ["containers: the pod was gone before its exit was seen"] : []),
  ];
}

/** Why a pod that was injected has said nothing; undefined where it has, or was not injected. */
function muteText({ injected, reported }: TerminationView, { isWhole }: Followed): string | undefined {
  if (injected === undefined || Object.keys(reported).length > 0) return undefined;
  const { what, isTold } = injected;
  const couldNot = "could not report: let the pod reach port 8070 of the coordinator, and DNS";
  // Only what asks a coordinator is told of one: the pod has a Lameduck of its own.
  if (what === "nothing that holds" && isTold && isWhole) return `its own Lameduck ${couldNot}`;
  if (what === "the kubelet's sleep" || what === "nothing that holds")
    return `${what} was injected, which reports nothing`;
  if (!isWhole) return `${what} was injected; whether it has reported is not known`;
  const why = isTold
    ? couldNot
    : "knew no coordinator: it was made before acknowledgements were on, restart its workload";
  return `${what} was injected, and ${why}`;
}

const sigkill = 9;
/** Exit code after SIGKILL, as the kubelet reports it. */
const exitOfSigkill = 128 + sigkill;
/** The exit has whole seconds of the node's clock, the deletion whole seconds of the API server's. */
const toleranceMs = 2_000;

/** Whether the kubelet sent SIGKILL at the end of the grace period. Unknown where no exit was seen. */
function wasKilled({ exits, deletedAt, graceSeconds }: TerminationView): "yes" | "no" | "unknown" {
  if (exits.length === 0) return "unknown";
  const killed = exits.filter(wasSigkilled);
  if (killed.length === 0) return "no";
  const end = deletedAt + graceSeconds * 1_000 - toleranceMs;
  const isLate = killed.some(({ finishedAt }) => finishedAt !== undefined && finishedAt >= end);
  if (isLate) return "yes";
  return killed.some(({ finishedAt }) => finishedAt === undefined) ? "unknown" : "no";
}

/** Whether SIGKILL ended it, other than the kernel's for lack of memory, which has nothing to do with the grace period. */
function wasSigkilled({ exitCode, signal, reason }: ContainerExit): boolean {
  return (exitCode === exitOfSigkill || signal === sigkill) && reason !== "OOMKilled";
}

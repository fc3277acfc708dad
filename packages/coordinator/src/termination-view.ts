import type { Basis } from "@lameduck/protocol";
import type { ContainerExit, Injected, WorkloadName } from "@lameduck/cluster";

/** One consumer of one termination. Times are milliseconds by the coordinator's clock. */
export interface TerminationConsumer {
  readonly kind: string;
  readonly basis: Basis | undefined;
  /** When its report came that the withdrawal is applied. */
  readonly appliedAt: number | undefined;
  /** Why it has not let go, where it says so. */
  readonly reason?: string | undefined;
  /** No report ever came for it. */
  readonly isMissing: boolean;
  /** Its heartbeats have stopped. */
  readonly isSilent: boolean;
}

/**
 * Why a pod is not released, where consumers that are behind do not tell it:
 * - `young`: proxies may not have added it yet. `finished`: its containers had ended before anybody was asked.
 * - `host-network`, `host-port`: its address, or a port, is its node's. `published`: a Service lists it until it is gone.
 * - `missing`: somebody may send to it for whom nothing reports. `silent`: more senders are silent than report.
 * - `unlisted`: nothing is known that leads to it. `unread`: what leads to it may not be read.
 */
export type Cause =
  | "young"
  | "finished"
  | "host-network"
  | "host-port"
  | "published"
  | "missing"
  | "silent"
  | "unlisted"
  | "unread";

/** Of a pod of which no consumer matters, or some list is not read: why it is not released, for people. */
export const causeTexts: Readonly<Partial<Record<Cause, string>>> = {
  "host-network": "it is in its node's network",
  "host-port": "it has a port of its node",
  published: "a Service lists it until it is gone",
  unlisted: "nothing is known that leads to it",
  silent: "more senders are silent than report",
  unread: "not all that may lead to it can be read: lameduck status names the lists",
};

/** By "KIND/NAME", the slowest first, and at most `mostNamed` of them. */
export type NamedConsumers = ReadonlyMap<string, TerminationConsumer>;

/**
 * One pod's way from its deletion to its end, as the coordinator sees it. The object is the same for all calls of a listener, and changes
 * in between. Times are milliseconds by the coordinator's clock, which nobody sets (`steadyNow`).
 */
export interface TerminationView {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly addresses: readonly string[];
  readonly node: string | undefined;
  /** By owner references: a ReplicaSet of a Deployment counts as the Deployment. */
  readonly workload: WorkloadName | undefined;
  /** When the deletion began: milliseconds since 1970 by the API server's clock, whole seconds. */
  readonly deletedAt: number;
  readonly graceSeconds: number;
  /** Of the withdrawal, within one epoch; undefined while the pod is among the ready endpoints, and where no consumer is asked about it. */
  readonly sequence: number | undefined;
  readonly withdrawnAt: number | undefined;
  /** It was published when it was deleted, and consumers were asked when it was withdrawn: their times tell how fast they are. */
  readonly isMeasured: boolean;
  /** Why it is not released, as it was found last. */
  readonly because?: Cause | undefined;
  readonly releasedAt: number | undefined;
  /** Made when it is asked for, so ask once. */
  readonly consumers: NamedConsumers;
  /** What was injected into it; undefined where nothing was, or where that is not known. */
  readonly injected?: Injected | undefined;
  /** What the pod reported last, by the keys of the protocol: "phase", "held-ms". */
  readonly reported: Readonly<Record<string, string>>;
  /** The address from which a new connection came after the release, as the pod says. */
  readonly overruledBy: string | undefined;
  /** Consumers of that address that had reported the withdrawal as applied, if the pod is right: "kube-proxy/node5". */
  readonly falseAcknowledgers: readonly string[];
  /** Whose address overruled it: "pod shop/client on node5", "node node5"; undefined where nobody here has it. */
  readonly overruler?: string | undefined;
  /** The overruling address is one of the pod's own node, from which the kubelet probes. */
  readonly mayBeProbe?: boolean;
  readonly exits: readonly ContainerExit[];
  /** When the pod's object was gone; undefined also where it stays after the end of its containers. */
  readonly goneAt: number | undefined;
  /** Consumers that had not let go long after its end. */
  readonly stuck?: readonly StuckConsumer[];
  /** What holds the object of a pod that has ended. */
  readonly finalizers: readonly string[];
}

/** From the end of a pod until a consumer that has not let go is stuck: neither a proxy's lag nor the reload of an ingress takes so long. */
export const stuckAfterMs = 60_000;

/** A consumer that had not let go of a pod so long after its end that it never will. */
export interface StuckConsumer {
  /** "nginx/edge" */
  readonly name: string;
  /** Why, where it says so. */
  readonly reason?: string;
}

/** Consumers that a termination names. */
export const mostNamed = 100;

/**
 * What happens to a termination, and what listeners hear:
 * - `began`: the deletion was seen.
 * - `withdrawn`: the pod has left the ready endpoints. `published`: it is among them again, and all that consumers have said of it is over.
 * - `numbered`: consumers are asked about the withdrawal. `unnumbered`: something new leads to the pod, so that they are asked again later.
 * - `released`: all of them have let go.
 * - `exited`: a container has ended. `reported`: the pod has said something of itself. `overruled`: a connection came after the release, as it says.
 * - `ended`: once; the object of the pod is gone, or its containers have ended and a finalizer keeps the object.
 * - `stuck`: once, long after that; consumers have not let go.
 */
export type TerminationNews =
  | "began"
  | "withdrawn"
  | "numbered"
  | "unnumbered"
  | "published"
  | "released"
  | "exited"
  | "reported"
  | "overruled"
  | "ended"
  | "stuck";

/** Called in the coordinator's process; an exception is logged and changes nothing. */
export type TerminationListener = (termination: TerminationView, what: TerminationNews) => void;

/** "deployment/web", as kubectl names it; "pod/NAME" for a pod without a controller. */
export function workloadText({ workload, name }: Pick<TerminationView, "workload" | "name">): string {
  return workload === undefined ? `pod/${name}` : `${workload.kind.toLowerCase()}/${workload.name}`;
}

/**
 * Milliseconds since 1970 by this machine's clock when the process began, and from there by one that nobody sets: neither a lifetime nor a silence
 * ends because the time is corrected.
 */
export function steadyNow(): number {
  return performance.timeOrigin + performance.now();
}

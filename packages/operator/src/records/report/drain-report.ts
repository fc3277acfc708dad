import type { KubernetesObject } from "@lameduck/kube";

/** Where a pod's own stop was decided. `none`: nothing of Lameduck ever spoke from the pod, though it could have been heard. */
export type Program = "library" | "init" | "wait" | "none" | "unknown";

/** How far one consumer had come when the termination ended. */
export interface ConsumerRecord {
  readonly name: string;
  readonly kind: string;
  /** `rules`, `state`, `syncs` or `time`: what its word rests on. */
  readonly basis?: string;
  /** `missing`: it never reported at all. `silent`: it fell silent. `behind`: it reported, and never this withdrawal. */
  readonly state: "applied" | "behind" | "silent" | "missing";
  /** Milliseconds after the deletion; only with state applied. */
  readonly appliedMs?: number;
}

interface ContainerRecord {
  readonly name: string;
  readonly exitCode: number;
  readonly signal?: number;
  readonly reason?: string;
  /** Milliseconds after the deletion. The kubelet tells whole seconds. */
  readonly exitedMs?: number;
}

/** Moments in milliseconds after the deletion; what is not known is left out and stands in `unknown`. */
export interface Moments {
  readonly withdrawn?: number;
  readonly released?: number;
  /** When the pod said that it began to hold, and that it stopped accepting: by the coordinator's clock. */
  readonly lameDuck?: number;
  readonly closing?: number;
  readonly closed?: number;
  readonly exited?: number;
  readonly gone?: number;
}

/** What the columns of `kubectl get drainreports` show. Always texts: what is not known says so. */
export interface ReportSummary {
  readonly hold: string;
  readonly released: string;
  readonly reason: string;
  readonly atRisk: string;
  readonly killed: "yes" | "no" | "unknown";
  /** The whole termination in a sentence. */
  readonly text: string;
}

/** One termination, as it is kept in the cluster. It records what has been; nobody reconciles it, so it has neither spec nor status. */
export interface DrainReport extends KubernetesObject {
  readonly apiVersion: "lameduck.dev/v1alpha1";
  readonly kind: "DrainReport";
  readonly summary: ReportSummary;
  readonly pod: {
    readonly name: string;
    readonly uid: string;
    readonly node?: string;
    readonly addresses?: readonly string[];
  };
  /** "deployment/web" */
  readonly workload: string;
  readonly program: Program;
  readonly deletedAt: string;
  readonly graceSeconds: number;
  readonly moments: Moments;
  /** What the pod told of its own hold, since SIGTERM or since its hook began. */
  readonly hold: {
    readonly ms?: number;
    readonly floorMs?: number;
    readonly reason?: string;
    readonly policy?: string;
    /** Before the stop. */
    readonly lastArrivalMs?: number;
    /** Its closing line. */
    readonly words?: string;
  };
  /** What arrived during the hold: a stop at SIGTERM would have put it at risk. */
  readonly atRisk: { readonly connections?: number; readonly requests?: number };
  readonly killed: "yes" | "no" | "unknown";
  readonly overruledBy?: string;
  /** Consumers that had said that they let go, and that have this address. */
  readonly tooEarly?: readonly string[];
  readonly consumers: readonly ConsumerRecord[];
  readonly containers: readonly ContainerRecord[];
  /** What is not known, and why. */
  readonly unknown: readonly string[];
}

export const reportsPath = "/apis/lameduck.dev/v1alpha1";
export const reportsOf = (namespace: string): string => `${reportsPath}/namespaces/${namespace}/drainreports`;

import type { KubernetesObject } from "@lameduck/kube";
import type { StuckConsumer } from "../../termination-view.ts";
import { apiPath, type apiVersion } from "@lameduck/protocol";

/** Where a pod's own stop was decided. `none`: no Lameduck in the pod ever reported, although the coordinator watched from the beginning. */
export type Program = "library" | "init" | "wait" | "none" | "unknown";

/** How far one consumer had come when the termination ended. */
export interface ConsumerRecord {
  readonly name: string;
  readonly kind: string;
  /** `rules`, `state`, `syncs` or `time`: what its report rests on. */
  readonly basis?: string;
  /** `missing`: it never reported at all. `silent`: its heartbeats stopped. `behind`: it reported, but never this withdrawal as applied. */
  readonly state: "applied" | "behind" | "silent" | "missing";
  /** Milliseconds after the deletion; only with state applied. */
  readonly appliedMs?: number;
  /** Why it had not let go, where it says so, with state behind; who it is, and what shows it, with state missing. */
  readonly reason?: string;
}

interface ContainerRecord {
  readonly name: string;
  readonly exitCode: number;
  readonly signal?: number;
  readonly reason?: string;
  /** Milliseconds after the deletion. The kubelet reports whole seconds. */
  readonly exitedMs?: number;
}

/** Moments in milliseconds after the deletion. A moment that is not known is left out and listed in `unknown`. */
export interface Moments {
  readonly withdrawn?: number;
  readonly released?: number;
  /** When the pod reported that it began to hold, by the coordinator's clock. */
  readonly lameDuck?: number;
  readonly closing?: number;
  readonly closed?: number;
  readonly exited?: number;
  readonly gone?: number;
}

/** The columns of `kubectl get drainreports`: texts, "unknown" where nothing is known. */
export interface ReportSummary {
  readonly hold: string;
  readonly released: string;
  readonly reason: string;
  readonly atRisk: string;
  readonly killed: "yes" | "no" | "unknown";
  /** The whole termination in a sentence. */
  readonly text: string;
}

/** The record of one termination in the cluster. It has neither spec nor status, because nothing reconciles it. */
export interface DrainReport extends KubernetesObject {
  readonly apiVersion: typeof apiVersion;
  readonly kind: "DrainReport";
  readonly summary: ReportSummary;
  readonly pod: {
    readonly name: string;
    readonly uid: string;
    readonly node?: string;
    readonly addresses?: readonly string[];
  };
  /** "a preStop hook of 0.1.0": what injection has put into the pod. */
  readonly injected?: string;
  /** "deployment/web" */
  readonly workload: string;
  readonly program: Program;
  readonly deletedAt: string;
  readonly graceSeconds: number;
  readonly moments: Moments;
  /** The pod's own report of its hold, since SIGTERM or since its hook began. */
  readonly hold: {
    readonly ms?: number;
    readonly floorMs?: number;
    /** How long the pod would have slept instead: the sleep in whose place its hook came. */
    readonly formerSleepMs?: number;
    readonly reason?: string;
    readonly policy?: string;
    /** Before the stop. */
    readonly lastArrivalMs?: number;
    /** Its closing line. */
    readonly words?: string;
  };
  /** Arrivals during the hold. A stop at SIGTERM would have put them at risk. */
  readonly atRisk: { readonly connections?: number; readonly requests?: number };
  readonly killed: "yes" | "no" | "unknown";
  /** As the pod says. */
  readonly overruledBy?: string;
  /** Whose address that is. */
  readonly overruler?: string;
  /** Consumers of that address that had reported the withdrawal as applied. */
  readonly falseAcknowledgers?: readonly string[];
  /** Consumers that had not let go of the pod 60 s after its end; written then. */
  readonly stuckConsumers?: readonly StuckConsumer[];
  readonly consumers: readonly ConsumerRecord[];
  readonly containers: readonly ContainerRecord[];
  /** Facts that are not known, and why. */
  readonly unknown: readonly string[];
}

export const reportsOf = (namespace: string): string => `${apiPath}/namespaces/${namespace}/drainreports`;

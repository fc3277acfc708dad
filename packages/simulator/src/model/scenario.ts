import type { Distribution } from "@lameduck/load/propagation";
import type { AcknowledgementsModel } from "./acknowledgements.ts";
import type { EndpointsModel } from "./endpoints.ts";
import type { Forwarder } from "./forwarder.ts";
import type { StallsModel } from "./stalls.ts";
import type { Arrivals, Identity } from "./trace.ts";

/** Everything the model needs to know, checked. Durations in milliseconds. */
export interface Scenario {
  readonly name: string;
  /** One sentence for people. */
  readonly summary: string;
  readonly replicas: number;
  readonly terminations: number;
  readonly rollout: RolloutModel;
  readonly endpoints: EndpointsModel;
  readonly senders: readonly SenderGroup[];
  readonly traffic: TrafficModel;
  readonly pod: PodModel;
  /** Where consumers report: policies that hear of it are played as well. */
  readonly acknowledgements?: AcknowledgementsModel;
}

/** `isolated`: one pod at a time, each replaced a moment before it is deleted, long after the one before. */
export type RolloutModel =
  | { readonly kind: "isolated" }
  | {
      readonly kind: "deployment";
      /** Where it is not a Deployment: a DaemonSet with surge rolls like one. */
      readonly workload?: "DaemonSet";
      readonly maxSurge: number;
      readonly maxUnavailable: number;
      /** From a pod's creation to its readiness. */
      readonly ready: Distribution;
      /** From the endpoint's being listed, with an address and not yet ready, to its readiness: a change of its own, which proxies sync. */
      readonly listedBefore: Distribution;
    }
  /** A pod is gone before its successor starts; so many slots roll at a time, each one pod after the other. */
  | {
      readonly kind: "in-place";
      readonly workload: "StatefulSet" | "DaemonSet";
      readonly slots: number;
      readonly ready: Distribution;
    };

export interface SenderGroup {
  readonly name: string;
  readonly count: number;
  readonly forwarder: Forwarder;
  /**
   * Part of the traffic, relative to the other groups. Within a group it is spread evenly.
   * 0: its reports are waited for, and it sends nothing; such groups come last.
   */
  readonly share: number;
  /** Whether somebody reports for it. Default true. */
  readonly reports?: boolean;
}

interface TrafficModel {
  /** New connections per second to one pod. */
  readonly perPod: number;
  /** `even`: each pod always gets its part. `known`: a rollout of a Deployment changes how many pods share it. */
  readonly spread?: "even" | "known";
  readonly arrivals: Arrivals;
  readonly identity: Identity;
  /** How long a request takes. */
  readonly service: Distribution;
  /** Connections kept alive, if any. */
  readonly pooled?: PooledTraffic;
}

export interface PooledTraffic {
  /** Open connections from each sender to one pod. */
  readonly connections: number;
  /** Requests per second on all of one pod's. */
  readonly perPod: number;
  /** From sender to pod, one way: what is sent on an idle connection while it is being closed is lost. */
  readonly oneWay: number;
}

interface PodModel {
  /** Longest history that the policy is shown. */
  readonly watched: number;
  /** How long before its deletion it became ready. Senders take it up as late as they let go of it. Undefined: long ago. */
  readonly age?: Distribution;
  /** Where it does not always get a processor. */
  readonly stalls?: StallsModel;
  /** From the deletion until the kubelet begins: the grace period runs from there. */
  readonly reaction: Distribution;
  readonly grace: number;
  readonly prestop: number;
  readonly reserve: number;
}

/** Of 14 deletions recorded on Kubernetes 1.36 (e2e/conformance/recordings): 24 to 142 ms until the first hook or signal, half of them below 50. */
export const usualReaction: Distribution = { lognormal: [50, 120] };

export const defaultEndpoints: EndpointsModel = {
  latency: { lognormal: [15, 40] },
  batch: 0,
  cacheLag: { lognormal: [4, 15] },
  backOff: 1_000,
  longestBackOff: 1_000_000,
};

/** All members of all groups, as arrays by sender have them. */
export function sendersOf({ senders }: Pick<Scenario, "senders">): number {
  return senders.reduce((sum, group) => sum + group.count, 0);
}

/** Senders that send anything. */
export function sendingOf({ senders }: Pick<Scenario, "senders">): number {
  return sendersOf({ senders: senders.filter(({ share }) => share > 0) });
}

/** Arrivals per millisecond of each sender at one pod, group by group. */
export function senderRates(scenario: Scenario): Float64Array {
  const rates = new Float64Array(sendersOf(scenario));
  const shares = scenario.senders.reduce((sum, { share }) => sum + share, 0);
  let index = 0;
  for (const { count, share } of scenario.senders)
    for (let member = 0; member < count; member++)
      rates[index++] = ((scenario.traffic.perPod / 1_000) * (share / shares)) / count;
  return rates;
}

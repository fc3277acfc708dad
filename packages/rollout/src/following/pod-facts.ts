import type { PhaseLine } from "@lameduck/accounting/recording";

/** A moment, as exactly as it is known: Date.now() of this machine, not before `from` and not after `to`. */
export interface Moment {
  readonly from: number;
  readonly to: number;
}

/** The end of a container. */
export interface ContainerEnd {
  readonly container: string;
  /** The kubelet reports whole seconds. */
  readonly at: Moment;
  readonly code: number;
  readonly signal: number | undefined;
  readonly reason: string;
}

/** What was seen of one pod. */
export interface PodFacts {
  readonly uid: string;
  readonly name: string;
  readonly node: string | undefined;
  readonly addresses: readonly string[];
  readonly created: Moment;
  readonly readiness: readonly { readonly at: Moment; readonly ready: boolean }[];
  readonly starts: readonly { readonly container: string; readonly at: Moment }[];
  readonly deleted: { readonly at: Moment; readonly grace: number } | undefined;
  /** It was terminating when the run began: requests are lost at it, but its end is no termination of the run. */
  readonly isLeftover: boolean;
  /** The kubelet said that it ends a container (event "Killing"). Then preStop hooks begin; without hooks SIGTERM is sent. */
  readonly killing: readonly { readonly at: Moment; readonly message: string }[];
  readonly hookFailed: readonly {
    readonly at: Moment;
    readonly message: string;
    readonly container: string | undefined;
  }[];
  readonly ends: readonly ContainerEnd[];
  /** The phases that the library or the init in the pod reported. */
  readonly phases: readonly PhaseLine[];
  readonly gone: Moment | undefined;
}

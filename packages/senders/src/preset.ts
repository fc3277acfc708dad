/** How one kind of sender learns that a pod is gone, with the evidence for its numbers. */
export interface Preset {
  readonly summary: string;
  readonly source: string;
  readonly forwarder: Mechanism;
}

/** What stands between an endpoint's withdrawal and the moment a sender stops using it. */
export type Mechanism = Delay | Periodic | Poll;

/** A time drawn anew for each change. */
interface Delay {
  readonly kind: "delay";
  readonly delay: Distribution;
}

/**
 * Works off all changes that have come, but not more often than `every`: at once when it has been idle that long, else as soon as it has.
 * kube-proxy counts from the end of its last sync, throttles of ingress controllers from the start.
 */
export interface Periodic {
  readonly kind: "periodic";
  /** Until the change is seen. */
  readonly watch: Distribution;
  readonly every: number;
  readonly counted: "from-end" | "from-start";
  /** How long a sync takes; its changes count from its end. */
  readonly work: Distribution;
  /** Other services' changes keep it busy: it is never idle, so a change comes at any time of its period. */
  readonly busy?: boolean;
  /** What the data plane behind it adds. */
  readonly dataPlane?: Distribution;
}

/** Asks every so often, at times that have nothing to do with the change. */
interface Poll {
  readonly kind: "poll";
  readonly every: number;
  readonly work: Distribution;
}

/** A distribution of durations, as data: it can stand in a scenario file. Milliseconds. */
export type Distribution =
  | number
  | { readonly uniform: readonly [number, number] }
  | { readonly exponential: number }
  /** Median and 90th percentile. */
  | { readonly lognormal: readonly [number, number] }
  /** Points of the distribution function, [probability, value] in rising order; straight between them. */
  | { readonly quantiles: readonly (readonly [number, number])[] }
  /** One of several distributions, chosen by weight. */
  | { readonly mixture: readonly (readonly [number, Distribution])[] }
  | { readonly sum: readonly Distribution[] };

/** Time until a watch of the API server tells of a change. */
export const watchDelay: Distribution = { lognormal: [30, 80] };

/** How one sender's arrivals are spaced. */
export type Arrivals =
  | { readonly kind: "poisson" }
  /** Gamma gaps with this coefficient of variation: above 1 they come in bursts. */
  | { readonly kind: "bursty"; readonly cv: number }
  /** Every sender at its own fixed beat, with this share of it as jitter. */
  | { readonly kind: "periodic"; readonly jitter: number };

/** What the pod sees of where an arrival comes from. */
export type Identity =
  /** The sender itself: an ingress proxy, a sidecar. */
  | { readonly kind: "sender" }
  /** The client behind it: this many of them, each always through the same sender. */
  | { readonly kind: "clients"; readonly count: number }
  /** Addresses shared by several senders: this many in all. */
  | { readonly kind: "snat"; readonly addresses: number };

/** New connections to one pod, in order of time; time 0 is its deletion. */
export interface Trace {
  /** How long before the deletion it was watched. */
  readonly history: number;
  /** Convergence time of each sender. */
  readonly convergence: Float64Array;
  /** Arrivals per millisecond of each sender, since the deletion. */
  readonly rates: Float64Array;
  readonly times: Float64Array;
  readonly senders: Int32Array;
  readonly identities: Int32Array;
  /** Each sender's last arrival before it was watched, where gaps are remembered. */
  readonly unwatched?: Float64Array;
  /** Requests on kept-alive connections since the deletion, the same at each call. */
  readonly pooled?: () => Iterator<PooledRequest, undefined>;
  /** When the pod hears that all consumers have let go; Infinity where it never does, undefined where none reports. */
  readonly released?: number;
  /** Index of the first arrival after the deletion. */
  readonly first: number;
  /** New connections that the senders would still make after `at`, on average over all that may follow what came before it. */
  expectedAfter(at: number): number;
}

/** A request on a connection that is kept alive; it is not made where that connection has been closed before. */
export interface PooledRequest {
  /** Since the deletion, milliseconds. */
  readonly at: number;
  readonly sender: number;
  /** Which of the sender's connections. */
  readonly connection: number;
  readonly duration: number;
}

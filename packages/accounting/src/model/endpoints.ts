/** Where a pod can be reached. */
export interface Endpoint {
  readonly pod: string;
  readonly address: string;
  readonly port: number;
}

/**
 * What the control plane learns about endpoints, at the moment it could know it (times on the run's clock). The stage calls these;
 * senders react, each at its own time.
 */
export interface EndpointListener {
  /** The pod is ready: senders may begin to choose it. */
  ready(endpoint: Endpoint, at: number): void;
  /** Its readiness was lost without a deletion. */
  unready(pod: string, at: number): void;
  /** Its deletion was written; it may well be serving still. */
  terminating(pod: string, at: number): void;
  /** Its containers have stopped and the address is dead. */
  gone(pod: string, at: number): void;
}

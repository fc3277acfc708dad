/** Why requests were lost; the words of Lameduck's causes. */
export interface Losses {
  /** C1: a new connection while the listener is closed. */
  stale: number;
  /** C2: a new connection after the pod has gone. */
  gone: number;
  /** C3: a request on a connection that was being closed. */
  keepAlive: number;
  /** C4 and C5: cut while in flight, at the end of the grace period. */
  inFlight: number;
}

export interface Outcome {
  readonly hold: number;
  readonly reason: string;
  readonly losses: Losses;
  readonly lost: number;
  /** New connections that the senders would make after the stop, on average over their arrivals: less noisy than counting one draw of them. */
  readonly expectedLost: number;
  readonly killed: boolean;
  /** When the process ended. */
  readonly total: number;
}

import type { Endpoint } from "@lameduck/accounting";

/** What an EndpointSlice says of a pod (KEP-1672), or that it says nothing any more. */
export interface EndpointState {
  readonly endpoint: Endpoint;
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly listed: boolean;
}

/** News of a pod on its way to one sender. */
export interface Change {
  readonly sender: string;
  readonly state: EndpointState;
  /** When the sender learns it, on the run's clock. */
  readonly at: number;
}

import type { SenderEvent } from "@lameduck/accounting";

/** Whoever chooses the pod that a request goes to, as far as it can be watched. */
export interface Sender {
  readonly events: readonly SenderEvent[];
  /** The pods that it sends to now. */
  readonly reaches: ReadonlySet<string>;
}

import type { Acknowledgements } from "./coordinator/coordinator.ts";
import type { HookFunction, HookOptions, HookPhase } from "./closing/hooks.ts";
import type { HoldExplained, LameduckEvents, Phase } from "./events.ts";

/** What can be seen from outside at any time. */
export interface State {
  readonly phase: Phase;
  /** Requests in flight; before the termination they are not counted, to cost nothing. */
  readonly inFlight: number;
  readonly leases: number;
  readonly open: number;
  readonly servers: number;
  /** Whom the hold waits for, or waited for; undefined before it. Reading it weighs every sender. */
  readonly hold: HoldExplained | undefined;
  /** How far the pod's consumers are, as the coordinator says; undefined before the hold, and where nobody is asked. */
  readonly acknowledgements: Acknowledgements | undefined;
}

/** What metrics, traces and the primary of a cluster need of a Lameduck. */
export interface Observed {
  state(): State;
  on<E extends keyof LameduckEvents>(event: E, listener: (...args: LameduckEvents[E]) => unknown): unknown;
  hook(phase: HookPhase, name: string, run: HookFunction, options?: HookOptions): unknown;
  busy(): Disposable;
}

import type { Decision, DrainOptions, Observation } from "@lameduck/drain";

/** Decides when a pod stops. Lameduck's own `Drain` fits this interface. Rules of other projects are simulated through it, too. */
export interface Stopper {
  observe(observation: Observation): void;
  decide(now: number): Decision;
}

/** A policy under comparison. */
export interface Contender {
  readonly name: string;
  /** What it knows beforehand, in words. */
  readonly description: string;
  /** Whether it observes traffic before the termination. If not, none is simulated for it. */
  readonly learns: boolean;
  /** Asks clients to leave (`Connection: close`) from then on, each at its turn within the ramp. Milliseconds after SIGTERM. */
  readonly hints?: { readonly from: number; readonly ramp: number };
  /** What is in flight then is cut. Milliseconds after SIGTERM; without it, it has until SIGKILL. */
  readonly finishBy?: number;
  /** Whether a coordinator reports when all consumers have converged. */
  readonly seesRelease?: boolean;
  /** How a worker makes the same contender. */
  readonly recipe: Recipe;
  /** Each termination teaches the next: they can only be played one after the other. */
  readonly inOrder?: boolean;
  /** A new stopper for each termination. `facts` are things that only a simulator knows. */
  start(facts: TerminationFacts): Stopper;
}

/** What a contender is made from, as plain data: it can be sent to another thread, where functions cannot. */
export type Recipe =
  | {
      readonly kind: "drained" | "withCoordinator" | "bare" | "learning";
      readonly name: string;
      readonly options: DrainOptions;
      readonly description: string;
    }
  | { readonly kind: "w*"; readonly tau: number; readonly budget: number; readonly cap: number }
  | { readonly kind: "istio" | "oracle" };

export interface TerminationFacts {
  /** When the last sender converged. */
  readonly oracle: number;
  readonly senders: number;
  /** New connections per millisecond in all. */
  readonly rate: number;
}

import type { Endpoint } from "@lameduck/accounting";

/** What an EndpointSlice says of a pod (KEP-1672), or that it says nothing any more. */
export interface EndpointState {
  readonly endpoint: Endpoint;
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly listed: boolean;
}

/** A change of a pod, on its way to one sender. */
export interface Change {
  readonly sender: string;
  readonly state: EndpointState;
  /** When the sender learns it, on the run's clock. */
  readonly at: number;
}

/**
 * Which endpoints a sender may choose: `ready` ones only, or, like kube-proxy (KEP-1669, CategorizeEndpoints), the serving terminating
 * ones when none is ready.
 */
export type Choice = "ready" | "ready-else-serving";

/** What a sender knows of the endpoints at present, and whom it may choose. */
export class EndpointView {
  readonly #choice: Choice;
  readonly #states = new Map<string, EndpointState>();
  #chosen: readonly Endpoint[] = [];

  constructor(choice: Choice) {
    this.#choice = choice;
  }

  get chosen(): readonly Endpoint[] {
    return this.#chosen;
  }

  /** @returns the pods that these changes made choosable, and those that they removed. */
  apply(states: readonly EndpointState[]): {
    readonly added: readonly Endpoint[];
    readonly left: readonly Endpoint[];
  } {
    const before = this.#chosen;
    for (const state of states) {
      if (state.listed) this.#states.set(state.endpoint.pod, state);
      else this.#states.delete(state.endpoint.pod);
    }
    this.#chosen = this.#choose();
    return { added: without(this.#chosen, before), left: without(before, this.#chosen) };
  }

  #choose(): readonly Endpoint[] {
    const states = [...this.#states.values()];
    const ready = states.filter((state) => state.serving && !state.terminating);
    const usable =
      ready.length === 0 && this.#choice === "ready-else-serving"
        ? states.filter((state) => state.serving)
        : ready;
    return usable.map((state) => state.endpoint);
  }
}

export function without(some: readonly Endpoint[], others: readonly Endpoint[]): readonly Endpoint[] {
  const pods = new Set(others.map((endpoint) => endpoint.pod));
  return some.filter((endpoint) => !pods.has(endpoint.pod));
}

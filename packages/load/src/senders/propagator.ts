import { random } from "@lameduck/accounting/recording";
import type { Random } from "@lameduck/accounting";
import type { Change, EndpointState } from "./view.ts";
import type { Distribution } from "@lameduck/senders";
import { draw, type Draws } from "../propagation/distribution.ts";
import type { Propagation } from "../propagation/propagation.ts";

export function drawsFrom(from: Random): Draws {
  return {
    uniform: () => from.next(),
    exponential: (mean) => from.exponential(mean),
    normal: () => from.normal(),
  };
}

type Way = "arrival" | "withdrawal";

/**
 * When each sender learns of each pod. One draw for a pod's arrival and one for its withdrawal, from the seed, the sender's name and the
 * pod's number in the order of arrivals or withdrawals: under the same seed the third pod that goes gets the same delays whatever the remedy
 * is tried and whatever it is called, and a pod that dies early does not converge early.
 */
export class Propagator {
  readonly #seed: number;
  readonly #propagation: Propagation;
  readonly #senders: readonly string[];
  /** Pods of the present, each with its numbers and with when each sender knows all so far. */
  readonly #pods = new Map<
    string,
    { readonly numbers: Map<Way, number>; readonly known: Map<string, number> }
  >();
  readonly #counts: Record<Way, number> = { arrival: 0, withdrawal: 0 };

  constructor(seed: number, propagation: Propagation, senders: readonly string[]) {
    this.#seed = seed;
    this.#propagation = propagation;
    this.#senders = senders;
  }

  changes(state: EndpointState, at: number): readonly Change[] {
    const { pod } = state.endpoint;
    const life = this.#pods.get(pod) ?? { numbers: new Map<Way, number>(), known: new Map<string, number>() };
    // A name may live again (StatefulSets): another life has numbers of its own.
    if (state.listed) this.#pods.set(pod, life);
    else this.#pods.delete(pod);
    const way = state.listed && state.serving && !state.terminating ? "arrival" : "withdrawal";
    const number = life.numbers.get(way) ?? ++this.#counts[way];
    life.numbers.set(way, number);
    const { shared, own } = this.#propagation;
    return this.#senders.map((name) => {
      const delay = this.#draw(shared, way, number, "all") + this.#draw(own, way, number, name);
      const learnt = Math.max(at + delay, life.known.get(name) ?? -Infinity);
      life.known.set(name, learnt);
      return { sender: name, state, at: learnt };
    });
  }

  #draw(delay: Distribution, way: Way, number: number, whom: string): number {
    return draw(delay, drawsFrom(random(this.#seed, "propagation", way, number, whom)));
  }
}

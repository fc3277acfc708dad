import { random } from "../model/random.ts";
import type { Change, EndpointState } from "./change.ts";
import { draw, type Delay } from "./delay.ts";
import type { Propagation } from "./presets.ts";

/**
 * When each sender learns of each pod. One draw for a pod's arrival and one for its withdrawal, from the seed and the names alone: the
 * same pods under the same seed meet the same delays whatever remedy is tried, and a pod that dies early does not converge early.
 */
export class Propagator {
  readonly #seed: number;
  readonly #senders: readonly { readonly name: string; readonly propagation: Propagation }[];
  readonly #delays = new Map<string, number>();
  readonly #last = new Map<string, number>();

  constructor(
    seed: number,
    senders: readonly { readonly name: string; readonly propagation: Propagation }[],
  ) {
    this.#seed = seed;
    this.#senders = senders;
  }

  changes(state: EndpointState, at: number): readonly Change[] {
    const { pod } = state.endpoint;
    const way = state.listed && state.serving && !state.terminating ? "arrival" : "withdrawal";
    return this.#senders.map(({ name, propagation }) => {
      const shared = this.#delay(propagation.shared, propagation.name, pod, way, "all");
      const own = this.#delay(propagation.own, propagation.name, pod, way, name);
      const channel = JSON.stringify([pod, name]);
      const learnt = Math.max(at + shared + own, this.#last.get(channel) ?? -Infinity);
      this.#last.set(channel, learnt);
      return { sender: name, state, at: learnt };
    });
  }

  #delay(delay: Delay, name: string, ...labels: readonly [pod: string, way: string, whom: string]): number {
    const key = JSON.stringify([name, ...labels]);
    let drawn = this.#delays.get(key);
    if (drawn === undefined) {
      drawn = draw(delay, random(this.#seed, "propagation", ...labels));
      this.#delays.set(key, drawn);
    }
    return drawn;
  }
}

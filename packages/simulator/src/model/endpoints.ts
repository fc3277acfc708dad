import type { Random } from "../kernel/random.ts";
import type { Simulation } from "../kernel/simulation.ts";
import { draw, type Distribution } from "@lameduck/load/propagation";

/** The EndpointSlice controller, as far as it decides when a withdrawal is published. */
export interface EndpointsModel {
  /** From a pod's change to the end of the write that publishes it. */
  readonly latency: Distribution;
  /** --endpointslice-updates-batch-period. */
  readonly batch: number;
  /** How long after its own write the controller's cache lags: a sync meanwhile fails and backs off. */
  readonly cacheLag: Distribution;
  /** First back-off, doubled at each failure in a row (defaultSyncBackOff). */
  readonly backOff: number;
  readonly longestBackOff: number;
  /** Instead of all that: a time drawn for each change by itself, alike for all senders. As in the lab. */
  readonly drawn?: Distribution;
}

/**
 * Publishes changes of one service. One sync at a time; changes that come meanwhile join the next one. A sync that starts before the cache has
 * seen the previous write fails with "EndpointSlice informer cache is out of date" and is retried after 1 s, 2 s, 4 s ...; a further change
 * does not wait for the retry, so it is the last changes of a rollout that come late: a tail shared by all senders.
 * (kubernetes pkg/controller/endpointslice; seen 168 times in some 25 rollouts of 20 pods on Kubernetes 1.36.)
 */
export class EndpointSliceController {
  readonly #simulation: Simulation;
  readonly #random: Random;
  readonly #model: EndpointsModel;
  readonly #published: (changes: readonly number[], at: number) => void;
  #waiting: number[] = [];
  #syncing = false;
  #dirty = false;
  #failures = 0;
  #cacheFreshAt = -Infinity;
  /** Syncs that failed because the cache was out of date. */
  conflicts = 0;

  constructor(
    simulation: Simulation,
    random: Random,
    model: EndpointsModel,
    published: (changes: readonly number[], at: number) => void,
  ) {
    this.#simulation = simulation;
    this.#random = random;
    this.#model = model;
    this.#published = published;
  }

  change(subject: number): void {
    if (this.#model.drawn !== undefined) {
      this.#published([subject], this.#simulation.now + draw(this.#model.drawn, this.#random));
      return;
    }
    this.#waiting.push(subject);
    this.#simulation.after(this.#model.batch, () => this.#enqueue());
  }

  #enqueue(): void {
    if (this.#syncing) {
      this.#dirty = true;
      return;
    }
    if (this.#waiting.length === 0) return;
    if (this.#simulation.now < this.#cacheFreshAt) {
      this.conflicts++;
      const backOff = Math.min(this.#model.backOff * 2 ** this.#failures++, this.#model.longestBackOff);
      this.#simulation.after(backOff, () => this.#enqueue());
      return;
    }
    this.#syncing = true;
    const changes = this.#waiting;
    this.#waiting = [];
    this.#simulation.after(draw(this.#model.latency, this.#random), () => this.#finish(changes));
  }

  #finish(changes: readonly number[]): void {
    this.#syncing = false;
    this.#failures = 0;
    this.#cacheFreshAt = this.#simulation.now + draw(this.#model.cacheLag, this.#random);
    this.#published(changes, this.#simulation.now);
    if (!this.#dirty) return;
    this.#dirty = false;
    this.#enqueue();
  }
}

import { Random } from "../src/kernel/random.ts";
import { Simulation } from "../src/kernel/simulation.ts";

/** A pod that swallows requests for a while, seen by two kinds of load. */
export interface BlackHole {
  readonly pods: number;
  /** Requests per second of the open-loop load. */
  readonly rate: number;
  /** How long one pod swallows everything, milliseconds. */
  readonly lasts: number;
  /** Workers of the closed-loop load, each waiting for its answer before it asks again. */
  readonly workers: number;
  readonly timeout: number;
  /** Time of an answer. */
  readonly answer: number;
}

/**
 * Kubernetes' own e2e test rolls a DaemonSet behind a load balancer with one worker that waits up to 5 s for each answer: while it waits it
 * asks nobody, so an outage that costs an open-loop load 100 requests costs it one (test/e2e/network/loadbalancer.go).
 */
export function failuresSeen(hole: BlackHole, seed: number): { open: number; closed: number } {
  const random = new Random(seed, "black hole");
  const simulation = new Simulation();
  let open = 0;
  let closed = 0;
  const swallowed = (): boolean => simulation.now < hole.lasts && random.below(hole.pods) === 0;
  const openLoop = (): void => {
    if (swallowed()) open++;
    if (simulation.now < hole.lasts) simulation.after(random.exponential(1_000 / hole.rate), openLoop);
  };
  const worker = (): void => {
    const failed = swallowed();
    if (failed) closed++;
    if (simulation.now < hole.lasts) simulation.after(failed ? hole.timeout : hole.answer, worker);
  };
  simulation.after(random.exponential(1_000 / hole.rate), openLoop);
  for (let index = 0; index < hole.workers; index++) simulation.at(0, worker);
  simulation.run();
  return { open, closed };
}

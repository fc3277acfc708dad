import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Scenario } from "../model/scenario.ts";
import type { World } from "../model/world.ts";
import type { Recipe } from "../policies/stopper.ts";
import type { Part } from "../run.ts";

interface WorkersOptions {
  readonly workers: number;
  /** Called after each termination. */
  readonly onPlayed: () => void;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Has the jobs done, each by the next worker that is free.
 * @returns what each came to, in the order of the jobs; undefined where it was given up.
 */
export async function runJobs(
  assignment: Assignment,
  jobs: readonly Job[],
  { workers, onPlayed, signal }: WorkersOptions,
): Promise<Part[] | undefined> {
  const parts: Part[] = [];
  const queue = [...jobs.entries()];
  const team = Array.from({ length: Math.min(workers, jobs.length) }, () => hire(assignment));
  const work = async (worker: Worker): Promise<void> => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const [index, job] = next;
      parts[index] = await done(worker, job, onPlayed);
    }
  };
  const givenUp = new Promise<undefined>((resolve) => {
    signal?.addEventListener("abort", () => resolve(undefined), { once: true });
  });
  try {
    return await Promise.race([Promise.all(team.map(work)).then(() => parts), givenUp]);
  } finally {
    await Promise.all(team.map((worker) => worker.terminate()));
  }
}

function hire(assignment: Assignment): Worker {
  // Beside this file, in the sources as in what is built of them.
  const file = new URL(`worker${extname(import.meta.url)}`, import.meta.url);
  return new Worker(file, { workerData: assignment });
}

function done(worker: Worker, job: Job, onPlayed: () => void): Promise<Part> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: FromWorker): void => {
      if (message === undefined) {
        onPlayed();
        return;
      }
      worker.off("message", onMessage);
      worker.off("error", reject);
      resolve(message);
    };
    worker.on("message", onMessage);
    worker.on("error", reject);
    worker.postMessage(job);
  });
}

/** What a worker is given once. */
export interface Assignment {
  readonly scenario: Scenario;
  readonly world: World;
  readonly recipes: readonly Recipe[];
  readonly seed: number;
}

/** Terminations that one worker plays in a row. */
export interface Job {
  readonly from: number;
  readonly to: number;
  /** Indices of the contenders. */
  readonly contenders: readonly number[];
}

/** From a worker: `undefined` after each termination, and what was played after the last. */
export type FromWorker = Part | undefined;

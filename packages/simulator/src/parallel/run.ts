import { availableParallelism } from "node:os";
import { simulateWorld, type World } from "../model/world.ts";
import type { Scenario } from "../model/scenario.ts";
import type { Outcome } from "../model/termination.ts";
import type { Contender } from "../policies/stopper.ts";
import { playPart, runOf, type Part, type Run } from "../run.ts";
import { type Job, runJobs } from "./workers.ts";

/** As many as need less than a gigabyte. */
const mostWorkers = 4;

/** A shorter run (ms) uses this thread workersAfter: to start workers takes some 0.2 s, and each has to warm up. */
const usualWorkersAfterMs = 700;

/** More jobs than workers, so that the wait for the last job is short. */
const jobsPerWorker = 4;

interface ParallelOptions {
  readonly seed: number;
  /** Called after each termination. */
  readonly onProgress?: ((done: number, of: number) => void) | undefined;
  /** Ends the run early, with what there is. */
  readonly signal?: AbortSignal | undefined;
  /** The scenario's, where it has been simulated already. */
  readonly world?: World;
  /** Milliseconds after which workers are called in. */
  readonly workersAfter?: number;
  readonly workers?: number;
}

/** The same as `run`, to the last digit, on all processors where it takes long. */
export async function runInParallel(
  scenario: Scenario,
  contenders: readonly Contender[],
  { seed, onProgress, signal, ...options }: ParallelOptions,
): Promise<Run> {
  const { world = simulateWorld(scenario, seed) } = options;
  const { workersAfter = usualWorkersAfterMs, workers = Math.min(mostWorkers, availableParallelism()) } =
    options;
  const { terminations } = scenario;
  const started = performance.now();
  let done = 0;
  const first = playPart(scenario, world, contenders, {
    seed,
    from: 0,
    to: terminations,
    onPlayed: () => {
      done++;
      onProgress?.(done, terminations);
      return !signal?.aborted && (workers < 2 || performance.now() - started < workersAfter);
    },
  });
  if (done === terminations || signal?.aborted) return runOf(scenario, world, seed, first);

  const jobs = jobsFor(contenders, done, terminations, workers);
  const recipes = contenders.map(({ recipe }) => recipe);
  const shares = jobs.reduce((sum, { from, to }) => sum + to - from, 0);
  let played = 0;
  const onPlayed = (): void => {
    played++;
    onProgress?.(done + Math.floor((played / shares) * (terminations - done)), terminations);
  };
  const parts = await runJobs({ scenario, world, recipes, seed }, jobs, { workers, onPlayed, signal });
  return runOf(scenario, world, seed, parts ? joined(first, contenders, jobs, parts) : first);
}

/** Contenders that must play in order begin anew, and first, for they take longest. */
function jobsFor(contenders: readonly Contender[], from: number, to: number, workers: number): Job[] {
  const indices = contenders.map((_, index) => index);
  const inOrder = indices.filter((index) => contenders[index]!.inOrder);
  const others = indices.filter((index) => !contenders[index]!.inOrder);
  const size = Math.ceil((to - from) / (workers * jobsPerWorker));
  const parts = Array.from({ length: Math.ceil((to - from) / size) }, (_, part) => ({
    from: from + part * size,
    to: Math.min(to, from + (part + 1) * size),
    contenders: others,
  }));
  return [...inOrder.map((index) => ({ from: 0, to, contenders: [index] })), ...parts];
}

function joined(
  first: Part,
  contenders: readonly Contender[],
  jobs: readonly Job[],
  parts: readonly Part[],
): Part {
  const outcomes = contenders.map(({ inOrder }, index): Outcome[] =>
    inOrder ? [] : [...first.outcomes[index]!],
  );
  let arrivals = first.arrivals;
  for (const [index, job] of jobs.entries()) {
    const part = parts[index]!;
    if (job.from > 0) arrivals += part.arrivals;
    for (const [place, contender] of job.contenders.entries())
      outcomes[contender]!.push(...part.outcomes[place]!);
  }
  return { outcomes, arrivals };
}

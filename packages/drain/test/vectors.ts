import {
  Drain,
  parseConfig,
  type Decision,
  type DrainOptions,
  type Observation,
  type StopReason,
} from "../src/index.ts";

/**
 * A decision to be taken alike by every implementation: observations, and when the hold must end and why.
 * The files are packages/drain/vectors/*.json; all times are milliseconds.
 */
export interface DecisionVector {
  readonly name: string;
  /** What a wrong implementation would get wrong here. */
  readonly why: string;
  readonly config: DrainOptions;
  readonly observations: readonly (Observation | Repeated)[];
  readonly expect: VectorOutcome;
  /** Which implementations support these observations; default: both. */
  readonly languages?: readonly ("typescript" | "c")[];
}

/** One observation repeated at `at`, `at + every` ... up to and including `to`, by this many senders in turn, numbered from 0. */
export type Repeated = Observation & {
  readonly every: number;
  readonly to: number;
  readonly senders?: number;
};

interface VectorOutcome {
  readonly stop: number;
  readonly reason: StopReason;
}

/** The observations one by one in order of time; those of the same time in the order written. */
export function expandVector(vector: DecisionVector): Observation[] {
  const all = vector.observations.flatMap((entry) => ("every" in entry ? [...repeat(entry)] : [entry]));
  return all.sort((a, b) => a.at - b.at);
}

function* repeat({ every, to, senders, ...observation }: Repeated): Generator<Observation> {
  for (let index = 0; observation.at + index * every <= to; index++) {
    const told = { ...observation, at: observation.at + index * every };
    yield senders !== undefined && "sender" in told
      ? { ...told, sender: `${told.sender}${index % senders}` }
      : told;
  }
}

/**
 * Plays the observations on virtual time, asking for a decision after each one and whenever a wait is over.
 * @param decided is called with each decision.
 */
export function runVector(
  vector: DecisionVector,
  drain: Pick<Drain, "observe" | "decide"> = new Drain(parseConfig(vector.config)),
  decided?: (now: number, decision: Decision) => void,
): VectorOutcome {
  const observations = expandVector(vector);
  let next = 0;
  let now = observations[0]?.at ?? 0;
  for (;;) {
    for (let one = observations[next]; one && one.at <= now; one = observations[++next]) drain.observe(one);
    const decision = drain.decide(now);
    decided?.(now, decision);
    if (decision.stop) return { stop: now, reason: decision.reason };
    const upcoming = observations[next]?.at ?? Infinity;
    now = Math.min(upcoming, decision.until);
    if (now === Infinity) throw new Error(`${vector.name}: no termination among the observations`);
  }
}

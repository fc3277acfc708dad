import {
  Drain,
  learn,
  parseConfig,
  type Decision,
  type DrainOptions,
  type Learnt,
  type Observation,
} from "@lameduck/drain";
import { asTheLibraryCloses } from "./drained.ts";
import type { Contender, Stopper } from "./stopper.ts";

/** An adaptive policy whose terminations teach the next ones, as an operator would carry it from pod to pod. */
interface LearningContender extends Contender {
  /** What has been learnt so far. */
  learnt(): Learnt | undefined;
}

export function learning(name: string, options: DrainOptions, description = ""): LearningContender {
  let learnt: Learnt | undefined;
  return {
    name,
    description,
    learns: true,
    inOrder: true,
    recipe: { kind: "learning", name, options, description },
    ...asTheLibraryCloses(options),
    learnt: () => learnt,
    start: () =>
      new LearningDrain(
        new Drain(parseConfig({ ...options, ...(learnt ? { learnt } : {}) })),
        (priorUpdate) => {
          learnt = learn(learnt, priorUpdate);
        },
      ),
  };
}

class LearningDrain implements Stopper {
  readonly #drain: Drain;
  readonly #teach: (priorUpdate: readonly number[]) => void;

  constructor(drain: Drain, teach: (priorUpdate: readonly number[]) => void) {
    this.#drain = drain;
    this.#teach = teach;
  }

  observe(observation: Observation): void {
    this.#drain.observe(observation);
  }

  decide(now: number): Decision {
    const decision = this.#drain.decide(now);
    const priorUpdate = decision.stop ? this.#drain.priorUpdate(now) : undefined;
    if (priorUpdate) this.#teach(priorUpdate);
    return decision;
  }
}

import type { AsyncJudge } from "../admission/handler.ts";
import type { Verdict } from "../admission/review.ts";
import { askedOf, type Asked } from "./call/asked.ts";
import { Deletions, type HoldEnd } from "./deletions.ts";
import type { Dependencies } from "./dependencies.ts";
import { Evictions, type EvictionEnd } from "./evictions.ts";
import { letThrough, requestLetThrough } from "./let-through.ts";
import { Restorer } from "./restorer.ts";

/** What became of one call, for metrics and log. `held`: seconds. */
export interface Judged {
  readonly action: Asked["action"];
  readonly outcome: string;
  readonly held: number;
  readonly pod: string;
  readonly user: string;
}

export interface HolderOptions {
  readonly dependencies: Dependencies;
  /** Whether this replica looks after what others have left. */
  readonly leads: () => boolean;
  readonly onJudged: (judged: Judged) => void;
}

/** Deletions and evictions of pods that cannot hold themselves. docs/held-deletions.md describes it. */
export class Holder {
  readonly #options: HolderOptions;
  readonly #deletions: Deletions;
  readonly #evictions: Evictions;
  readonly #restorer: Restorer;

  constructor(options: HolderOptions) {
    const { dependencies, leads } = options;
    this.#options = options;
    this.#deletions = new Deletions(dependencies);
    this.#evictions = new Evictions(dependencies);
    this.#restorer = new Restorer(dependencies, leads);
  }

  get size(): number {
    return this.#deletions.size;
  }

  start(): void {
    this.#options.dependencies.endpoints.start();
    this.#restorer.start();
  }

  async stop(): Promise<void> {
    await this.#deletions.stop();
    await Promise.all([this.#restorer.stop(), this.#options.dependencies.endpoints.stop()]);
  }

  readonly judge: AsyncJudge = async (request, gone) => {
    const asked = askedOf(request);
    if (!asked) return { allowed: true };
    const began = performance.now();
    const end = await this.#end(asked, gone);
    const held = (performance.now() - began) / 1_000;
    const { action, namespace, name, user } = asked;
    this.#options.onJudged({ action, outcome: outcomeOf(end), held, pod: `${namespace}/${name}`, user });
    return verdictOf(end, held);
  };

  async #end(asked: Asked, gone: AbortSignal): Promise<HoldEnd | EvictionEnd> {
    const because = requestLetThrough(asked, this.#options.dependencies.settings);
    if (because) return { because };
    return asked.action === "delete" ? this.#deletions.hold(asked, gone) : this.#evictions.judge(asked, gone);
  }
}

function outcomeOf(end: HoldEnd | EvictionEnd): string {
  return "later" in end ? "later" : "because" in end ? end.because : end.ending;
}

function verdictOf(end: HoldEnd | EvictionEnd, held: number): Verdict {
  if ("later" in end)
    return { allowed: false, retryAfter: end.later, message: `Lameduck puts the eviction off: ${end.why}` };
  const outcome = "because" in end ? `${end.because}: ${letThrough[end.because]}` : end.ending;
  return { allowed: true, audit: { hold: `${held.toFixed(1)} s, ${outcome}` } };
}

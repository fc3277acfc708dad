import type { AdmissionResponse, ReviewHandler } from "../admission/review.ts";
import { deletionCallOf, type DeletionCall } from "./deletion-call.ts";
import { Deletions, type HoldEnd, type Dependencies } from "./deletions.ts";
import { Evictions, type EvictionEnd } from "./evictions.ts";
import { notHeldReasons, reasonNotToHoldCall } from "./not-held.ts";
import { Restorer } from "./restorer.ts";

/** What became of one call, for metrics and log. `held`: seconds. */
export interface HandledCall {
  readonly action: DeletionCall["action"];
  readonly outcome: string;
  readonly held: number;
  readonly pod: string;
  readonly user: string;
}

export interface DeletionHolderOptions {
  readonly dependencies: Dependencies;
  /** Whether this replica looks after what others have left. */
  readonly isLeader: () => boolean;
  readonly onCall: (judged: HandledCall) => void;
}

/** Deletions and evictions of pods that cannot hold themselves. docs/held-deletions.md describes it. */
export class DeletionHolder {
  readonly #options: DeletionHolderOptions;
  readonly #deletions: Deletions;
  readonly #evictions: Evictions;
  readonly #restorer: Restorer;

  constructor(options: DeletionHolderOptions) {
    const { dependencies, isLeader } = options;
    this.#options = options;
    this.#deletions = new Deletions(dependencies);
    this.#evictions = new Evictions(dependencies);
    this.#restorer = new Restorer(dependencies, isLeader);
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

  readonly review: ReviewHandler = async (request, gone) => {
    const call = deletionCallOf(request);
    if (!call) return { allowed: true };
    const began = performance.now();
    const end = await this.#end(call, gone);
    const held = (performance.now() - began) / 1_000;
    const { action, namespace, name, user } = call;
    this.#options.onCall({ action, outcome: outcomeOf(end), held, pod: `${namespace}/${name}`, user });
    return responseFor(end, held);
  };

  async #end(call: DeletionCall, gone: AbortSignal): Promise<HoldEnd | EvictionEnd> {
    const because = reasonNotToHoldCall(call, this.#options.dependencies.settings);
    if (because) return { because };
    return call.action === "delete" ? this.#deletions.hold(call, gone) : this.#evictions.decide(call, gone);
  }
}

function outcomeOf(end: HoldEnd | EvictionEnd): string {
  return "later" in end ? "later" : "because" in end ? end.because : end.ending;
}

function responseFor(end: HoldEnd | EvictionEnd, held: number): AdmissionResponse {
  if ("later" in end)
    return { allowed: false, retryAfter: end.later, message: `Lameduck puts the eviction off: ${end.why}` };
  const outcome = "because" in end ? `${end.because}: ${notHeldReasons[end.because]}` : end.ending;
  return { allowed: true, audit: { hold: `${held.toFixed(1)} s, ${outcome}` } };
}

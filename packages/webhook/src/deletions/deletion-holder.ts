import type { AdmissionRequest, AdmissionResponse, ReviewHandler } from "../admission/review.ts";
import { deletionCallOf, type DeletionCall } from "./deletion-call.ts";
import { type CommonDependencies, Deletions, type HoldDependencies, type HoldEnd } from "./deletions.ts";
import { Evictions, type EvictionEnd } from "./evictions.ts";
import { notHeldReasons, reasonNotToHoldCall } from "./not-held.ts";
import { NodeShutdowns, type NodeShutdownsOptions } from "./node-shutdowns.ts";
import { Restorer } from "./restorer.ts";
import { Surges } from "./surges.ts";

/** What became of one call, for metrics and log. `held`: seconds. */
export interface HandledCall {
  readonly action: DeletionCall["action"] | "surge";
  readonly outcome: string;
  readonly held: number;
  readonly pod: string;
  readonly user: string;
}

interface DeletionHolderOptions {
  readonly dependencies: CommonDependencies;
  /** None: deletions and evictions are not held. */
  readonly held: HoldDependencies | undefined;
  /** Whether this replica looks after what others have left. */
  readonly isLeader: () => boolean;
  readonly onCall: (judged: HandledCall) => void;
  /** Where pods of nodes that shut down are withdrawn. */
  readonly shutdowns?: Pick<NodeShutdownsOptions, "enabled" | "onWithdrawn"> | undefined;
}

/** Holds deletions of pods that cannot hold themselves (docs/operate/held-deletions.md), and evictions for a surge (docs/operate/surge.md). */
export class DeletionHolder {
  readonly #options: DeletionHolderOptions;
  readonly #deletions: Deletions | undefined;
  readonly #evictions: Evictions | undefined;
  readonly #surges: Surges;
  readonly #restorer: Restorer;
  readonly #shutdowns: NodeShutdowns | undefined;

  constructor(options: DeletionHolderOptions) {
    const { dependencies, held, isLeader, shutdowns } = options;
    this.#options = options;
    this.#deletions = held && new Deletions({ ...dependencies, ...held });
    this.#evictions = held && new Evictions({ ...dependencies, ...held });
    this.#surges = new Surges(dependencies);
    this.#shutdowns =
      held &&
      shutdowns &&
      new NodeShutdowns({ dependencies: { ...dependencies, ...held }, isLeader, ...shutdowns });
    this.#restorer = new Restorer(dependencies, isLeader, this.#shutdowns);
  }

  get size(): number {
    return this.#deletions?.size ?? 0;
  }

  start(): void {
    this.#options.held?.endpoints.start();
    this.#shutdowns?.start();
    this.#restorer.start();
  }

  async stop(): Promise<void> {
    await this.#deletions?.stop();
    await this.#shutdowns?.stop();
    await Promise.all([this.#restorer.stop(), this.#options.held?.endpoints.stop()]);
  }

  readonly review: ReviewHandler = (request, gone) =>
    this.#answer(request, (call) =>
      call.action === "delete" ? this.#deletions?.hold(call, gone) : this.#evictions?.decide(call, gone),
    );

  readonly reviewSurge: ReviewHandler = (request) =>
    this.#answer(
      request,
      (call) => (call.action === "evict" ? this.#surges.decide(call) : undefined),
      "surge",
    );

  async #answer(request: AdmissionRequest, decide: Decide, as?: "surge"): Promise<AdmissionResponse> {
    const call = deletionCallOf(request);
    if (!call) return { allowed: true };
    const began = performance.now();
    const because = reasonNotToHoldCall(call, this.#options.dependencies.settings);
    const end = because ? { because } : await decide(call);
    if (!end) return { allowed: true };
    const held = (performance.now() - began) / 1_000;
    const { action, namespace, name, user } = call;
    const outcome = outcomeOf(end);
    this.#options.onCall({ action: as ?? action, outcome, held, pod: `${namespace}/${name}`, user });
    return responseFor(end, held);
  }
}

/** @returns none where nothing of the kind is switched on. */
type Decide = (call: DeletionCall) => Promise<HoldEnd | EvictionEnd> | undefined;

function outcomeOf(end: HoldEnd | EvictionEnd): string {
  return "later" in end ? "later" : "because" in end ? end.because : end.ending;
}

function responseFor(end: HoldEnd | EvictionEnd, held: number): AdmissionResponse {
  if ("later" in end)
    return { allowed: false, retryAfter: end.later, message: `Lameduck puts the eviction off: ${end.why}` };
  const outcome = "because" in end ? `${end.because}: ${notHeldReasons[end.because]}` : end.ending;
  return { allowed: true, audit: { hold: `${held.toFixed(1)} s, ${outcome}` } };
}

import type { TerminationNews, TerminationView } from "../../termination-view.ts";

/** When a pod first reported each phase, and whether its termination was seen from the beginning. Milliseconds by the coordinator's clock. */
export interface Followed {
  /** Its deletion was seen as it happened, so that nothing after it was missed. */
  readonly isWhole: boolean;
  /** When it was deleted, as exactly as is known: milliseconds since 1970. */
  readonly origin: number;
  /** The same by the coordinator's clock, which nobody sets. */
  readonly began: number;
  lameDuckAt?: number;
  closingAt?: number;
  closedAt?: number;
  /** The consumers when they mattered last: once a pod is gone from all slices, its senders are no longer known. */
  consumers?: TerminationView["consumers"];
}

/** A running coordinator sees a deletion within this time. */
const justBegunMs = 5_000;
/** Kubernetes writes deletions in whole seconds, rounded down. */
const resolutionMs = 1_000;

const moments = { "lame-duck": "lameDuckAt", closing: "closingAt", closed: "closedAt" } as const;

/** Keeps facts of each termination that its last state no longer shows. */
export class FollowedTerminations {
  readonly #known = new WeakMap<TerminationView, Followed>();
  readonly #now: () => number;
  readonly #clock: () => number;

  /** @param clock by which terminations have their times. */
  constructor(now: () => number, clock: () => number) {
    this.#now = now;
    this.#clock = clock;
  }

  hear(termination: TerminationView, what: TerminationNews): Followed {
    const followed = this.#known.get(termination) ?? this.#begin(termination);
    this.#known.set(termination, followed);
    const moment = moments[termination.reported["phase"] as keyof typeof moments] as
      | (typeof moments)[keyof typeof moments]
      | undefined;
    const isNewPhase = moment !== undefined && followed[moment] === undefined;
    if (isNewPhase) followed[moment] = this.#clock();
    const isStopping = isNewPhase && moment !== "lameDuckAt";
    if (followed.consumers === undefined || mattersAt(termination, what, isStopping))
      readConsumers(followed, termination);
    return followed;
  }

  /** The watch sees a deletion within milliseconds, which is more exact than the timestamp's second. It is clamped to that second. */
  #begin({ deletedAt }: TerminationView): Followed {
    const now = this.#now();
    const isWhole = now - deletedAt < justBegunMs;
    const origin = isWhole ? Math.min(Math.max(now, deletedAt), deletedAt + resolutionMs) : deletedAt;
    return { isWhole, origin, began: this.#clock() - (now - origin) };
  }
}

/** Whether its consumers are read anew: each read walks along all nodes. After the release they have no more to say. */
function mattersAt(
  { releasedAt, exits }: TerminationView,
  what: TerminationNews,
  isStopping: boolean,
): boolean {
  if (what === "numbered" || what === "published" || what === "released") return true;
  if (releasedAt !== undefined) return false;
  return what === "exited" || (isStopping && exits.length === 0);
}

function readConsumers(followed: Followed, { consumers }: TerminationView): void {
  if (consumers.size > 0) followed.consumers = consumers;
}

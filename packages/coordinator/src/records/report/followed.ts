import type { Termination } from "../../termination.ts";

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
  /** The consumers at the last stage that mattered: once a pod is gone from all slices, its senders are no longer known. */
  consumers?: Termination["consumers"];
  /** The stage at which they were read last. */
  stage?: string;
}

/** Terminations under way. Beyond this number the oldest are dropped, and recorded as seen in part. */
const most = 20_000;

/** Milliseconds within which a running coordinator sees a deletion. */
const justBegun = 5_000;
/** Kubernetes writes deletions in whole seconds, rounded down. */
const resolution = 1_000;

const moments = { "lame-duck": "lameDuckAt", closing: "closingAt", closed: "closedAt" } as const;

/** Keeps facts of each termination that its last state no longer shows. */
export class FollowedTerminations {
  readonly #known = new Map<string, Followed>();
  readonly #now: () => number;
  readonly #clock: () => number;

  /** @param clock by which terminations have their times. */
  constructor(now: () => number, clock: () => number) {
    this.#now = now;
    this.#clock = clock;
  }

  observe(termination: Termination): Followed {
    const { uid, reported } = termination;
    const known = this.#known.get(uid);
    const followed = known ?? this.#begin(termination);
    if (!known) this.#remember(uid, followed);
    const moment = moments[reported["phase"] as keyof typeof moments] as
      (typeof moments)[keyof typeof moments] | undefined;
    if (moment !== undefined) followed[moment] ??= this.#clock();
    readConsumers(followed, termination);
    return followed;
  }

  forget(uid: string): void {
    this.#known.delete(uid);
  }

  /** The watch sees a deletion within milliseconds, which is more exact than the timestamp's second. It is clamped to that second. */
  #begin({ deletedAt }: Termination): Followed {
    const now = this.#now();
    const isWhole = now - deletedAt < justBegun;
    const origin = isWhole ? Math.min(Math.max(now, deletedAt), deletedAt + resolution) : deletedAt;
    return { isWhole, origin, began: this.#clock() - (now - origin) };
  }

  #remember(uid: string, followed: Followed): void {
    const [oldest] = this.#known.keys();
    if (this.#known.size >= most && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(uid, followed);
  }
}

/** Reads the consumers once for each stage, because each read walks along all nodes. */
function readConsumers(followed: Followed, termination: Termination): void {
  const stage = stageOf(termination);
  if (followed.stage === stage) return;
  const { consumers } = termination;
  if (consumers.size === 0) return;
  followed.consumers = consumers;
  followed.stage = stage;
}

function stageOf({ releasedAt, reported, exits, number }: Termination): string {
  if (releasedAt !== undefined) return "released";
  if (exits.length > 0) return "ended";
  if (reported["phase"] === "closing" || reported["phase"] === "closed") return "closing";
  return number === undefined ? "begun" : "withdrawn";
}

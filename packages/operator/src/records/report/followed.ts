import type { Termination } from "../../coordinator/termination.ts";

/** When a pod was first heard to say each phase, and whether it was seen from its beginning. Milliseconds since the epoch. */
export interface Followed {
  /** Its deletion was seen as it happened: what was not seen after it has not been. */
  readonly isWhole: boolean;
  /** When it was deleted, as exactly as can be told. */
  readonly origin: number;
  lameDuckAt?: number;
  closingAt?: number;
  closedAt?: number;
  /** As they were when it mattered: once a pod has left the endpoints for good, nobody is known to send to it. */
  consumers?: Termination["consumers"];
  /** What they were looked at for last. */
  stage?: string;
}

/** As many as a cluster can have under way; beyond them the oldest are forgotten, and recorded as seen in part. */
const most = 20_000;

/** Until a deletion is seen, where the coordinator runs. */
const justBegun = 5_000;
/** Kubernetes tells deletions in whole seconds, cut off. */
const resolution = 1_000;

const moments = { "lame-duck": "lameDuckAt", closing: "closingAt", closed: "closedAt" } as const;

/** Keeps of each termination under way what its last state no longer tells. */
export class FollowedTerminations {
  readonly #known = new Map<string, Followed>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  see(termination: Termination): Followed {
    const { uid, said } = termination;
    const known = this.#known.get(uid);
    const followed = known ?? this.#begin(termination);
    if (!known) this.#remember(uid, followed);
    const moment = moments[said["phase"] as keyof typeof moments] as
      (typeof moments)[keyof typeof moments] | undefined;
    if (moment !== undefined) followed[moment] ??= this.#now();
    lookAtConsumers(followed, termination);
    return followed;
  }

  forget(uid: string): void {
    this.#known.delete(uid);
  }

  /** A watch tells of a deletion within milliseconds: that is more exact than its second, and is not believed beyond it. */
  #begin({ deletedAt }: Termination): Followed {
    const now = this.#now();
    const isWhole = now - deletedAt < justBegun;
    const origin = isWhole ? Math.min(Math.max(now, deletedAt), deletedAt + resolution) : deletedAt;
    return { isWhole, origin };
  }

  #remember(uid: string, followed: Followed): void {
    const [oldest] = this.#known.keys();
    if (this.#known.size >= most && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(uid, followed);
  }
}

/** At its withdrawal, when it is released, and else when it stops and ends: each look costs a walk along all nodes. */
function lookAtConsumers(followed: Followed, termination: Termination): void {
  const stage = stageOf(termination);
  if (followed.stage === stage) return;
  const { consumers } = termination;
  if (consumers.size === 0) return;
  followed.consumers = consumers;
  followed.stage = stage;
}

function stageOf({ releasedAt, said, exits, number }: Termination): string {
  if (releasedAt !== undefined) return "released";
  if (exits.length > 0) return "ended";
  if (said["phase"] === "closing" || said["phase"] === "closed") return "closing";
  return number === undefined ? "begun" : "withdrawn";
}

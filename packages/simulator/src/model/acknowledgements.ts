import type { Random } from "../kernel/random.ts";
import { releaseOptions } from "@lameduck/options";
import { draw, type Distribution } from "@lameduck/load/propagation";

/** Consumers that report how far they have come, and the coordinator that tells the pod once all have. Milliseconds. */
export interface AcknowledgementsModel {
  /** Whether a silent consumer is left out after `silentAfter`, or waited for until the cap. */
  readonly mode: "availability" | "consistency";
  readonly silentAfter: number;
  /** From the publication of a withdrawal until the coordinator has seen and numbered it. */
  readonly coordinator: Distribution;
  /** Latency of one direction, between coordinator and consumer, and between coordinator and pod. */
  readonly network: Distribution;
  /** How long the coordinator keeps a consumer waiting, since it wakes each at most twice a second. */
  readonly wake: Distribution;
  /** How often a consumer that is behind looks at its rules, drawn for each consumer. */
  readonly poll: Distribution;
  /** How long one look takes. */
  readonly look: Distribution;
  /** A consumer that is behind is heard of as often as that. */
  readonly heartbeat: number;
  /** How many consumers, drawn for each termination, do not report: their watcher is stopped, and their rules go on changing. */
  readonly silent: number;
  /** How many, drawn likewise, report falsely at their first look. */
  readonly lying: number;
}

export const defaultAcknowledgements: AcknowledgementsModel = {
  mode: releaseOptions.mode.default,
  silentAfter: releaseOptions.silentAfter.default,
  coordinator: { lognormal: [20, 80] },
  network: { lognormal: [1, 5] },
  wake: { uniform: [0, 500] },
  poll: { uniform: [250, 500] },
  look: { lognormal: [20, 60] },
  heartbeat: 1_000,
  silent: 0,
  lying: 0,
};

/** A pod's withdrawal, as its consumers meet it. Since the deletion, milliseconds. */
export interface Withdrawal {
  /** When it was published. */
  readonly at: number;
  /** When each consumer has applied it. */
  readonly applied: ArrayLike<number>;
  /** Whether a consumer without a reporter matters. */
  readonly incomplete: boolean;
  /** When the pod began to be published, if that was not long ago. */
  readonly publishedAt?: number;
}

/** Consumers are not asked before: until then they may not have added the pod yet. As `addedWithinMs` of the coordinator. */
const addedWithinMs = 10_000;

/**
 * When the pod hears that all consumers have let go, since its deletion; Infinity where it never does. A consumer that is behind looks at its rules in turns
 * of its own, which begin when the coordinator wakes it, and reports after the first look at which they are applied.
 */
export function releasedAt(model: AcknowledgementsModel, withdrawal: Withdrawal, random: Random): number {
  const consumers = withdrawal.applied.length;
  // With more than half of them silent, it is the coordinator that hears nothing.
  if (withdrawal.incomplete || model.silent > consumers / 2) return Infinity;
  const { at, publishedAt = -Infinity } = withdrawal;
  const known = Math.max(at + draw(model.coordinator, random), publishedAt + addedWithinMs);
  const odd = oddOnes(model, consumers, random);
  let last = known;
  for (let consumer = 0; consumer < consumers; consumer++)
    last = Math.max(last, reportedAt(model, known, withdrawal.applied[consumer]!, odd.get(consumer), random));
  return last + draw(model.network, random);
}

type Odd = "silent" | "lying";

function reportedAt(
  model: AcknowledgementsModel,
  known: number,
  applied: number,
  odd: Odd | undefined,
  random: Random,
): number {
  const woken = known + draw(model.wake, random) + draw(model.network, random);
  const poll = draw(model.poll, random);
  const took = draw(model.look, random) + draw(model.network, random);
  if (odd === "silent")
    return model.mode === "consistency" ? Infinity : known + model.heartbeat + model.silentAfter;
  const looks = odd === "lying" ? 0 : Math.max(0, Math.ceil((applied - woken) / poll));
  return woken + looks * poll + took;
}

/** Which consumers behave oddly in this termination: silent ones first, then liars. */
function oddOnes(
  { silent, lying }: AcknowledgementsModel,
  consumers: number,
  random: Random,
): Map<number, Odd> {
  const odd = new Map<number, Odd>();
  const most = Math.min(consumers, silent + lying);
  while (odd.size < most) {
    const consumer = random.below(consumers);
    if (!odd.has(consumer)) odd.set(consumer, odd.size < silent ? "silent" : "lying");
  }
  return odd;
}

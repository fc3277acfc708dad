import { stuckAfterMs, type StuckConsumer } from "../termination-view.ts";
import type { Consumer } from "./consumer.ts";
import type { Termination } from "./termination.ts";
import type { Withdrawals } from "./withdrawals.ts";

/** Pods that are asked about after their end. Each may be a gap in a report, which has room for 100 ranges between gaps. */
const mostAsked = 50;
/** Between two looks at one pod: each look walks along all nodes. */
const lookEveryMs = 5_000;
/** Between two looks while a report is still to come that is made so long after the end. */
const lookAgainMs = 1_000;
/** From the end of a pod until nothing more is expected of a consumer that does not report. */
const unheardAfterMs = 90_000;
/** A consumer that was stuck is shown for so long. */
const shownForMs = 3_600_000;
/** Of those that are shown. */
const mostShown = 100;

/** What `lameduck status` shows of a consumer that was stuck in the last hour. */
export interface StuckStatus extends StuckConsumer {
  /** The last pod that it did not let go of: "shop/web-7d9c-abcde". */
  readonly pod: string;
  readonly pods: number;
  readonly agoMs: number;
}

interface Ended {
  /** Of the withdrawal that consumers are asked about. */
  readonly sequence: number;
  readonly at: number;
  lookAt: number;
}

interface StuckConsumersOptions {
  readonly withdrawals: Pick<Withdrawals, "drop">;
  /** The consumers that matter to it and have not let go. Their reports tell, but for those that go by time. */
  readonly notLetGo: (termination: Termination) => readonly Consumer[];
}

/**
 * Goes on asking about a pod after its end until everybody has let go of it. It finds the consumers that never do: what they send goes to a dead
 * address. No release waits for that.
 */
export class StuckConsumers {
  readonly #options: StuckConsumersOptions;
  readonly #ended = new Map<Termination, Ended>();
  readonly #shown = new Map<string, Omit<StuckStatus, "agoMs"> & { readonly at: number }>();

  constructor(options: StuckConsumersOptions) {
    this.#options = options;
  }

  get areAsked(): boolean {
    return this.#ended.size > 0;
  }

  /** Nothing listens at the pod any more. Where there are too many such pods, the earlier ones are asked about. */
  ended(termination: Termination, now: number): void {
    const { sequence, isHeldOnly } = termination;
    if (sequence === undefined || this.#ended.has(termination)) return;
    const isAsked =
      !isHeldOnly && this.#ended.size < mostAsked && this.#options.notLetGo(termination).length > 0;
    if (isAsked) this.#ended.set(termination, { sequence, at: now, lookAt: now + lookEveryMs });
    else this.#options.withdrawals.drop(sequence);
  }

  /** Another pod has these addresses now: that they are listed proves nothing. */
  taken(uid: string, addresses: readonly string[]): void {
    for (const [termination, { sequence }] of this.#ended)
      if (termination.uid !== uid && termination.addresses.some((one) => addresses.includes(one)))
        this.#forget(termination, sequence);
  }

  /** @returns the pods that somebody has not let go of for so long after their end, each once. */
  look(now: number): readonly (readonly [Termination, readonly StuckConsumer[]])[] {
    const found: (readonly [Termination, readonly StuckConsumer[]])[] = [];
    for (const [termination, ended] of this.#ended) {
      const { sequence, at, lookAt } = ended;
      if (now < lookAt) continue;
      const isDue = now >= at + stuckAfterMs;
      ended.lookAt = isDue ? now + lookAgainMs : Math.min(now + lookEveryMs, at + stuckAfterMs);
      // It may have been published again meanwhile.
      const left = termination.sequence === sequence ? this.#options.notLetGo(termination) : [];
      const isUnheard = left.some(({ heardAt }) => heardAt < at + stuckAfterMs) && now < at + unheardAfterMs;
      if (left.length > 0 && (!isDue || isUnheard)) continue;
      this.#forget(termination, sequence);
      const stuck = left.filter((one) => isStuck(one, at)).map(named);
      if (stuck.length === 0) continue;
      for (const one of stuck) this.#show(one, termination, now);
      found.push([termination, stuck]);
    }
    return found;
  }

  /** Those of the last hour, the latest last. */
  lately(now: number): readonly StuckStatus[] {
    return Array.from(this.#shown.values()).flatMap(({ at, ...one }) =>
      now - at < shownForMs ? [{ ...one, agoMs: now - at }] : [],
    );
  }

  #forget(termination: Termination, sequence: number): void {
    this.#ended.delete(termination);
    this.#options.withdrawals.drop(sequence);
  }

  #show(one: StuckConsumer, { namespace, name }: Termination, at: number): void {
    const known = this.#shown.get(one.name);
    const pods = known && at - known.at < shownForMs ? known.pods + 1 : 1;
    this.#shown.delete(one.name);
    this.#shown.set(one.name, { ...one, pod: `${namespace}/${name}`, pods, at });
    const [oldest] = this.#shown.keys();
    if (this.#shown.size > mostShown && oldest !== undefined) this.#shown.delete(oldest);
  }
}

/**
 * Whether it has said, so long after the end, that it has not let go. What cannot be read says nothing. Nor does a consumer that was restarted: it
 * may not have looked yet.
 */
function isStuck({ problem, since, heardAt }: Consumer, endedAt: number): boolean {
  return problem === undefined && since <= endedAt && heardAt >= endedAt + stuckAfterMs;
}

function named({ key: name, reason }: Consumer): StuckConsumer {
  return reason === undefined ? { name } : { name, reason };
}

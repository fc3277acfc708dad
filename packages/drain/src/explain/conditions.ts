import type { Decision, Wait } from "../decision.ts";
import type { Drain } from "../drain.ts";
import type { Overrule, ActiveRelease } from "../release.ts";
import type { PendingSender } from "../senders/senders.ts";

/** A condition of the stop, and when it was met. */
export interface Met {
  readonly condition: Wait;
  /** Milliseconds since the termination. */
  readonly at: number;
}

/** Why a hold took as long as it did. */
export interface Timeline {
  /** In the order of time. */
  readonly met: readonly Met[];
  /** Conditions that are not met, or were not at the end: a cap or a force does not wait for them. */
  readonly unmet: readonly Wait[];
  /** The sender whose silence the hold waited for last; undefined where it waited for no sender. */
  readonly sender: PendingSender | undefined;
  /** The release that ended the wait for senders, or for acknowledgements, where one did. */
  readonly release?: ActiveRelease & After;
  /** The connection that showed a release to be wrong. */
  readonly overruled?: Overrule & After;
}

interface After {
  /** Milliseconds since the termination. */
  readonly after: number;
}

/** What is asked of a decision to explain it. */
type Followed = Pick<Drain, "pendingSenders" | "release" | "explain">;

/** Follows the decisions of one hold: what was waited for, and until when. */
export class Conditions {
  readonly #drain: Followed;
  readonly #from: number;
  readonly #met = new Map<Wait, number>();
  #waitingFor: Wait | undefined;
  /** The earliest end of that wait. */
  #until = 0;
  /** The latest decision is a stop for which every condition was met. */
  #isMet = false;

  /** @param from when the termination began, on the clock of the decisions. */
  constructor(drain: Followed, from: number) {
    this.#drain = drain;
    this.#from = from;
  }

  decided(now: number, decision: Decision): void {
    const waitingFor = decision.stop ? undefined : decision.waitingFor;
    this.#isMet = decision.stop && !cutsShort.includes(decision.reason);
    if (waitingFor === "termination" || (decision.stop && !this.#isMet)) return;
    if (this.#waitingFor !== undefined && this.#waitingFor !== waitingFor)
      this.#met.set(this.#waitingFor, isLength(this.#waitingFor) ? this.#until : now);
    this.#waitingFor = waitingFor;
    if (!decision.stop) this.#until = decision.until;
  }

  /** Weighs every sender once: for the end of a hold, or for somebody who asks. */
  timeline(now: number): Timeline {
    const unmet = this.#isMet ? [] : this.#unmet(now);
    // A condition that is waited for again has not been met.
    const met = [...this.#met].filter(([condition]) => !unmet.includes(condition));
    const metAt = new Map(met);
    const silentAt = unmet.includes("silence") ? now : metAt.get("silence");
    const { active: release, overruled } = this.#drain.release;
    const after = ({ at }: ActiveRelease | Overrule): After => ({ after: at - this.#from });
    const letGoAt = metAt.get("acknowledgements") ?? metAt.get("silence") ?? -Infinity;
    return {
      met: met.map(([condition, at]) => ({ condition, at: at - this.#from })).sort((a, b) => a.at - b.at),
      unmet,
      sender: silentAt === undefined ? undefined : this.#drain.pendingSenders(silentAt)[0],
      ...(release && letGoAt >= release.settledAt && { release: { ...release, ...after(release) } }),
      ...(overruled && { overruled: { ...overruled, ...after(overruled) } }),
    };
  }

  /** The condition that was waited for last, then all others that are not met. */
  #unmet(now: number): Wait[] {
    const first = this.#waitingFor === undefined ? [] : [this.#waitingFor];
    return [...new Set([...first, ...this.#drain.explain(now).unmet])];
  }
}

/** Whether the condition ends at a known time, also where the process stood still and notices later. */
export function isLength(condition: Wait): boolean {
  return condition === "floor" || condition === "delay";
}

/** Reasons that end a hold whatever it waits for. */
const cutsShort: readonly string[] = ["cap", "forced"];

import type { Decision, Wait } from "../decision.ts";
import type { Drain } from "../drain.ts";
import type { Overrule, ActiveRelease } from "../release.ts";
import type { Suspect } from "../senders/senders.ts";

/** A condition of the stop, and when it was met. */
export interface Met {
  readonly condition: Wait;
  /** Milliseconds since the termination. */
  readonly at: number;
}

/** Why a hold took as long as it did. */
export interface Course {
  /** In the order of time. */
  readonly met: readonly Met[];
  /** What a stop still lacks, or lacked at the end: a cap or a force does not wait for the rest. */
  readonly unmet: readonly Wait[];
  /** Whose silence the hold waited for last; undefined where it waited for nobody's. */
  readonly sender: Suspect | undefined;
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
type Followed = Pick<Drain, "suspects" | "release" | "explain">;

/** Follows the decisions of one hold: what was waited for, and until when. */
export class Conditions {
  readonly #drain: Followed;
  readonly #from: number;
  readonly #met = new Map<Wait, number>();
  #waitingFor: Wait | undefined;
  /** Until when at least. */
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
  course(now: number): Course {
    const unmet = this.#isMet ? [] : this.#unmet(now);
    // What is waited for again has not been met.
    const met = [...this.#met].filter(([condition]) => !unmet.includes(condition));
    const metAt = new Map(met);
    const silentAt = unmet.includes("silence") ? now : metAt.get("silence");
    const { active: release, overruled } = this.#drain.release;
    const after = ({ at }: ActiveRelease | Overrule): After => ({ after: at - this.#from });
    const letGoAt = metAt.get("acknowledgements") ?? metAt.get("silence") ?? -Infinity;
    return {
      met: met.map(([condition, at]) => ({ condition, at: at - this.#from })).sort((a, b) => a.at - b.at),
      unmet,
      sender: silentAt === undefined ? undefined : this.#drain.suspects(silentAt)[0],
      ...(release && letGoAt >= release.settledAt && { release: { ...release, ...after(release) } }),
      ...(overruled && { overruled: { ...overruled, ...after(overruled) } }),
    };
  }

  /** What was waited for last, and whatever else a stop would lack. */
  #unmet(now: number): Wait[] {
    const first = this.#waitingFor === undefined ? [] : [this.#waitingFor];
    return [...new Set([...first, ...this.#drain.explain(now).unmet])];
  }
}

/** It is over when it is, also where the process stood still and notices later. */
export function isLength(condition: Wait): boolean {
  return condition === "floor" || condition === "delay";
}

/** They end a hold whatever it waits for. */
const cutsShort: readonly string[] = ["cap", "forced"];

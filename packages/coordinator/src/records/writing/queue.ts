import type { WorkloadName } from "@lameduck/cluster";
import type { NewReport } from "../report/describe.ts";

/** A termination that has ended, to be recorded. */
export interface Ended {
  readonly uid: string;
  readonly report: NewReport;
  readonly workload: WorkloadName | undefined;
  /** It was seen from its beginning, and the times of its consumers tell how fast they are. */
  readonly isMeasured: boolean;
  readonly at: number;
}

/** One minute at 10,000 terminations a minute. Beyond this the oldest are dropped, and counted. */
const most = 10_000;
/** A replica that does not write keeps terminations so long: the writer may be killed before it writes. */
const keptForMs = 90_000;

/** Terminations that have ended and are not recorded yet, as far as this replica knows. */
export class EndedTerminations {
  readonly #now: () => number;
  readonly #onDrop: () => void;
  readonly #waiting = new Map<string, Ended>();

  constructor(now: () => number, onDrop: () => void) {
    this.#now = now;
    this.#onDrop = onDrop;
  }

  get size(): number {
    return this.#waiting.size;
  }

  add(one: Omit<Ended, "at">): void {
    if (this.#waiting.size >= most) {
      const [oldest] = this.#waiting.keys();
      if (oldest !== undefined) this.#waiting.delete(oldest);
      this.#onDrop();
    }
    this.#waiting.set(one.uid, { ...one, at: this.#now() });
  }

  /** The oldest entries. */
  first(count: number): Ended[] {
    const first: Ended[] = [];
    for (const one of this.#waiting.values()) if (first.push(one) >= count) break;
    return first;
  }

  done({ uid }: Ended): void {
    this.#waiting.delete(uid);
  }

  /** In a replica that does not write: drops entries that the writer has had the time to record. */
  forgetOld(): void {
    const before = this.#now() - keptForMs;
    for (const [uid, { at }] of this.#waiting) if (at < before) this.#waiting.delete(uid);
  }
}

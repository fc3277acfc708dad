import type { WorkloadName } from "../../coordinator/termination.ts";
import type { NewReport } from "../report/describe.ts";

/** A termination that has ended, to be recorded. */
export interface Ended {
  readonly uid: string;
  readonly report: NewReport;
  readonly workload: WorkloadName | undefined;
  /** The pod's own lesson for those that come after it. */
  readonly lesson: string | undefined;
  readonly at: number;
}

/** As many as a minute of 10,000 terminations; beyond them the oldest are lost, and counted. */
const most = 10_000;
/** A replica that does not write remembers so long: another may have been killed before it wrote. Milliseconds. */
const memory = 90_000;

/** Terminations that have ended and that nobody has recorded yet, as far as this replica knows. */
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

  /** Those that wait longest. */
  first(count: number): Ended[] {
    const first: Ended[] = [];
    for (const one of this.#waiting.values()) if (first.push(one) >= count) break;
    return first;
  }

  done({ uid }: Ended): void {
    this.#waiting.delete(uid);
  }

  /** For a replica that does not write: what the other has had the time to record. */
  forgetOld(): void {
    const before = this.#now() - memory;
    for (const [uid, { at }] of this.#waiting) if (at < before) this.#waiting.delete(uid);
  }
}

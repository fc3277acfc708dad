/** Wall clocks are read in whole milliseconds. */
const resolutionMs = 1;

/**
 * How far a pod's clock is from ours, from what must have been before what: a line cannot arrive before it was written, a pod cannot
 * start before its Job was sent, and SIGTERM cannot come before it was asked for. Together these are the two halves of an NTP
 * exchange, at the precision of the way through API server and kubelet (some 10 ms a line, some 100 ms a signal).
 */
export class ClockBounds {
  #low = -Infinity;
  #high = Infinity;

  /** Something that the pod timed came after something that we timed. */
  after(ours: number, theirs: number): void {
    this.#low = Math.max(this.#low, ours - theirs - resolutionMs);
  }

  /** Something that the pod timed came before something that we timed. */
  before(ours: number, theirs: number): void {
    this.#high = Math.min(this.#high, ours - theirs + resolutionMs);
  }

  /**
   * Milliseconds to add to the pod's times: none as long as equal clocks explain everything (nodes keep time by NTP, far closer than the
   * bounds), else as little as explains it.
   */
  get correction(): number {
    if (this.#low > this.#high) return this.#high;
    return Math.min(Math.max(0, this.#low), this.#high);
  }

  /** How far the true difference may be from the correction, milliseconds; Infinity where one side is not bounded. */
  get uncertainty(): number {
    const { correction } = this;
    return Math.max(this.#high - correction, correction - this.#low, 0);
  }
}

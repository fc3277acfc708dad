/**
 * CrashLoopBackOff: the first restart comes at once, the second 10 s after the end, then twice as late each time, at most 300 s;
 * forgotten after ten minutes without a crash (MaxContainerBackOff, k8s.io/kubernetes/pkg/kubelet).
 */
const firstMs = 10_000;
const mostMs = 300_000;
const forgottenAfter = 2 * mostMs;

export class Backoff {
  #delay = 0;
  #last = -Infinity;

  /** Milliseconds to wait before the restart after an end at `now`. */
  next(now: number): number {
    if (now - this.#last > forgottenAfter) this.#delay = 0;
    this.#last = now;
    const delay = this.#delay;
    this.#delay = delay === 0 ? firstMs : Math.min(mostMs, delay * 2);
    return delay;
  }
}

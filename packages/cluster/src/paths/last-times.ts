import { placesOf } from "./places.ts";

/**
 * For so long after a pod was published, or after something new leads to it, a proxy may still add it to its rules, also when the pod is withdrawn
 * meanwhile. Only after that time a pod that is not in the rules is one that the proxy has let go of. There are two causes: the proxy's watch lags, so
 * that it hears of each change later, but in the same order; or a sync that began before the withdrawal is not written yet. A proxy that only syncs
 * seldom adds nothing: a sync writes the newest state, and a pod that came and went between two of them is never in its rules. No rule shows which of
 * these it is, so time decides.
 */
export const addedWithinMs = 10_000;

/** When something last happened by which proxies may choose pods of a Service that they did not choose before. It is forgotten once it has no effect. */
export class LastTimes {
  /** By "SERVICE" and "SERVICE NODE", in the order of their times. */
  readonly #times = new Map<string, number>();

  /** @param node where it concerns the pods of this node only. */
  note(service: string, now: number, node?: string): void {
    const key = node === undefined ? service : `${service} ${node}`;
    this.#times.delete(key);
    this.#times.set(key, now);
  }

  /** The last one for any of the Services and pods on this node; -Infinity where there is none. */
  of(services: readonly string[], node: string | undefined): number {
    let last = -Infinity;
    if (this.#times.size === 0) return last;
    for (const service of new Set(services.flatMap(placesOf)))
      for (const key of [service, `${service} ${node}`])
        last = Math.max(last, this.#times.get(key) ?? -Infinity);
    return last;
  }

  forget(now: number): void {
    for (const [key, at] of this.#times) {
      if (now - at <= addedWithinMs) break;
      this.#times.delete(key);
    }
  }
}

import type { Architecture } from "../policy/settings.ts";

/** Milliseconds for which a processor counts after its last node has gone: an autoscaler may bring the next one within minutes. */
const keptFor = 3_600_000;

/** The processors that there is a node of, or was a moment ago. */
export class NeededArchitectures {
  readonly #seenAt = new Map<Architecture, number>();

  /** @param now by any clock that never jumps. @returns undefined where nobody knows the nodes. */
  of(known: readonly Architecture[] | undefined, now: number): readonly Architecture[] | undefined {
    if (known === undefined) return undefined;
    for (const one of known) this.#seenAt.set(one, now);
    return [...this.#seenAt].flatMap(([one, at]) => (now - at < keptFor ? [one] : []));
  }
}

import type { Change } from "@lameduck/kube";
import type { KeptSlice } from "../objects.ts";

/**
 * Tells whether a list hides a state in which a Service's endpoints have been since they were last known. The API server counts the changes of each
 * slice (`metadata.generation`). A slice that is one change further has been in no other state. Where two slices have changed, a list does not say
 * which came first. Proxies look at each Service and each family of addresses alone, and so does this.
 */
export class ListGaps {
  #listedAt = NaN;
  /** Services and families of addresses of which this list has shown a changed slice. */
  readonly #changed = new Set<string>();

  isGap(before: KeptSlice | undefined, { type, object, at, live }: Change<KeptSlice>): boolean {
    if (live) return false;
    if (at !== this.#listedAt) this.#changed.clear();
    this.#listedAt = at;
    const family = `${object.service} ${object.addressType}`;
    const isOnlyOne = !this.#changed.has(family);
    this.#changed.add(family);
    const [{ generation: former = NaN } = {}, { generation }] = [before?.metadata, object.metadata];
    return !isOnlyOne || type === "gone" || generation !== former + 1;
  }
}

import type { Change } from "@lameduck/kube";
import type { KeptSlice } from "../objects.ts";

/**
 * Whether a list hides something that the endpoints of a Service were since they were last known. The API server counts the changes of each slice
 * (`metadata.generation`): one that has changed once was nothing else meanwhile. Of two slices a list does not tell which changed first. That matters
 * within a Service and a family of addresses: proxies look at each family alone.
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

import type { Change } from "@lameduck/kube";
import type { KeptSlice } from "../objects.ts";

/**
 * Whether a list hides something that the endpoints of a Service were since they were last known. The API server counts the changes of each slice
 * (`metadata.generation`): one that has changed once was nothing else meanwhile. Of two slices of a Service it does not tell which changed first.
 */
export class ListGaps {
  #listedAt = NaN;
  /** Those of which this list has shown a changed slice. */
  readonly #services = new Set<string>();

  isGap(before: KeptSlice | undefined, { type, object, at, live }: Change<KeptSlice>): boolean {
    if (live) return false;
    if (at !== this.#listedAt) this.#services.clear();
    this.#listedAt = at;
    const isOnlyOne = !this.#services.has(object.service);
    this.#services.add(object.service);
    const [{ generation: former = NaN } = {}, { generation }] = [before?.metadata, object.metadata];
    return !isOnlyOne || type === "gone" || generation !== former + 1;
  }
}

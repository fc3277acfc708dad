import type { KeptSlice } from "./objects.ts";

/** Where a Service has lost its last ready endpoint: on a node, or in the whole cluster (undefined). */
export type Emptied = string | undefined;

/** How many ready endpoints each Service has, in the cluster and on each node. */
export class ReadyEndpoints {
  /** By "SERVICE" and "SERVICE NODE". */
  readonly #counts = new Map<string, number>();

  add(slice: KeptSlice): void {
    this.#count(slice, 1);
  }

  remove(slice: KeptSlice): ReadonlySet<Emptied> {
    return this.#count(slice, -1);
  }

  #count({ service, endpoints }: KeptSlice, by: 1 | -1): ReadonlySet<Emptied> {
    const emptied = new Set<Emptied>();
    for (const { isReady, node } of endpoints) {
      if (!isReady) continue;
      for (const place of node === undefined ? [undefined] : [undefined, node]) {
        const key = place === undefined ? service : `${service} ${place}`;
        const count = (this.#counts.get(key) ?? 0) + by;
        if (count > 0) this.#counts.set(key, count);
        else {
          this.#counts.delete(key);
          emptied.add(place);
        }
      }
    }
    return emptied;
  }
}

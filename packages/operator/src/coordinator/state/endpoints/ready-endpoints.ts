import type { KeptSlice } from "../objects.ts";

/** Where a Service has lost its last ready endpoint: on a node, or in the whole cluster (undefined). */
export type Emptied = string | undefined;

/** What a change of a slice means for its Service. */
export interface ReadinessEffect {
  /** Where it has no ready endpoint any more. */
  readonly emptied: ReadonlySet<Emptied>;
  /** Proxies choose ready endpoints that were reserved for others: their own are gone, or one is reserved for nobody, so that no reservation counts. */
  readonly isWidened: boolean;
  /** Several zones or nodes have lost their own at once, and no other is ready: their proxies choose those that terminate, of all. */
  readonly isOpened: boolean;
}

/** No node or place is called so. */
const anyReserved = "reserved/";

/** How many ready endpoints each Service has, in the cluster, on each node, and reserved for each zone or node. */
export class ReadyEndpoints {
  /** By "SERVICE", "SERVICE NODE" and "SERVICE zone/ZONE". */
  readonly #counts = new Map<string, number>();

  /** Counts the new state of a slice in place of the former one. */
  replace(before: KeptSlice | undefined, after: KeptSlice | undefined): ReadinessEffect {
    const { service = "" } = after ?? before ?? {};
    const wasReserved = this.#isReserved(service);
    // New entries first: what moves within a slice empties nothing.
    if (after) this.#count(after, 1);
    const isForAll = !this.#isReserved(service);
    const gone = before ? this.#count(before, -1) : [];
    const left = gone.filter((place) => place?.includes("/") === true && place !== anyReserved);
    const emptied = new Set(gone.filter((place) => place?.includes("/") !== true));
    return {
      emptied,
      isWidened: wasReserved && (isForAll || left.length > 0),
      isOpened: wasReserved && emptied.has(undefined) && left.length > 1,
    };
  }

  #isReserved(service: string): boolean {
    const reserved = this.#counts.get(`${service} ${anyReserved}`);
    return reserved !== undefined && reserved === this.#counts.get(service);
  }

  /** @returns the places without a ready endpoint now. */
  #count({ service, endpoints }: KeptSlice, by: 1 | -1): readonly Emptied[] {
    const emptied: Emptied[] = [];
    for (const { isReady, node, reservedFor } of endpoints) {
      if (!isReady) continue;
      const places: Emptied[] = node === undefined ? [undefined] : [undefined, node];
      if (reservedFor) places.push(anyReserved, ...reservedFor);
      for (const place of places) {
        const key = place === undefined ? service : `${service} ${place}`;
        const count = (this.#counts.get(key) ?? 0) + by;
        if (count > 0) this.#counts.set(key, count);
        else {
          this.#counts.delete(key);
          emptied.push(place);
        }
      }
    }
    return emptied;
  }
}

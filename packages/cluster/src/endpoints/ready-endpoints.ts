import type { SlimSlice } from "../objects.ts";

/** Where a Service has lost its last ready endpoint: on a node, or in the whole cluster (undefined). */
export type EmptyPlace = string | undefined;

/** What a change of a slice means for its Service. */
export interface ReadinessEffect {
  /** Where it has no ready endpoint any more. */
  readonly lostLastReady: ReadonlySet<EmptyPlace>;
  /** Proxies choose ready endpoints that were reserved for others: their own are gone, or other hints count now, or none. */
  readonly hintsDropped: boolean;
  /** Several zones or nodes have lost their own at once, and no other is ready: their proxies choose those that terminate, of all. */
  readonly fallsBackToTerminating: boolean;
}

/**
 * Hints of one kind count where each ready endpoint has one. kube-proxy first goes by the hints of nodes, if one is for its node. Then it goes by the
 * hints of zones, if one is for its zone. Else no hint counts. Proxies before Kubernetes 1.34 know zones only.
 */
const kinds = ["node/", "zone/"] as const;
type Kind = (typeof kinds)[number];

const isOf = (kind: Kind) => (place: EmptyPlace) => place?.startsWith(kind) === true;
/** No node or place is called so. */
const anyOf = (kind: Kind): string => `any ${kind}`;

/** How many ready endpoints each Service has, in the cluster, on each node, and reserved for each zone or node. */
export class ReadyEndpoints {
  /** By "SERVICE", "SERVICE NODE" and "SERVICE zone/ZONE". */
  readonly #counts = new Map<string, number>();

  /** Counts the new state of a slice in place of the former one. */
  replace(before: SlimSlice | undefined, after: SlimSlice | undefined): ReadinessEffect {
    const { service = "" } = after ?? before ?? {};
    const counted = this.#counting(service);
    // New entries first: what moves within a slice empties nothing.
    if (after) this.#count(after, 1);
    const gone = before ? this.#count(before, -1) : [];
    const counting = this.#counting(service);
    const lostLastReady = new Set(gone.filter((place) => place?.includes("/") !== true));
    return {
      lostLastReady,
      // Hints of nodes that count again may be for other endpoints than those of zones.
      hintsDropped:
        counted.some((kind) => !counting.includes(kind) || gone.some(isOf(kind))) ||
        (counted.includes("zone/") && counting.length > counted.length),
      fallsBackToTerminating:
        lostLastReady.has(undefined) && counted.some((kind) => gone.filter(isOf(kind)).length > 1),
    };
  }

  /** The kinds of hints that count. */
  #counting(service: string): readonly Kind[] {
    const all = this.#counts.get(service);
    return kinds.filter((kind) => all !== undefined && this.#counts.get(`${service} ${anyOf(kind)}`) === all);
  }

  /** @returns the places without a ready endpoint now. */
  #count({ service, endpoints }: SlimSlice, by: 1 | -1): readonly EmptyPlace[] {
    const empty: EmptyPlace[] = [];
    for (const { isReady, node, reservedFor } of endpoints) {
      if (!isReady) continue;
      const places: EmptyPlace[] = node === undefined ? [undefined] : [undefined, node];
      if (reservedFor)
        places.push(...kinds.filter((kind) => reservedFor.some(isOf(kind))).map(anyOf), ...reservedFor);
      for (const place of places) {
        const key = place === undefined ? service : `${service} ${place}`;
        const count = (this.#counts.get(key) ?? 0) + by;
        if (count > 0) this.#counts.set(key, count);
        else {
          this.#counts.delete(key);
          empty.push(place);
        }
      }
    }
    return empty;
  }
}

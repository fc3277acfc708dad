import type { Change } from "@lameduck/kube";
import type { KeptSlice } from "./objects.ts";

/** What the EndpointSlices say of one pod. */
interface Listing {
  /** Slices that publish it as ready. */
  ready: number;
  /** Those of them that do so although it terminates: `publishNotReadyAddresses`. */
  pinned: number;
  slices: number;
  /** Services that list it or have listed it, as "NAMESPACE/NAME". */
  readonly services: Set<string>;
}

/** Which pods are published where. Services that no longer list a pod are remembered: their consumers may still send to it. */
export class Listings {
  readonly #slices = new Map<string, KeptSlice>();
  readonly #pods = new Map<string, Listing>();
  readonly #isThere: (uid: string) => boolean;

  /** @param isThere whether a pod exists: what is listed nowhere is forgotten with it. */
  constructor(isThere: (uid: string) => boolean) {
    this.#isThere = isThere;
  }

  /** @returns the pods of which it says something else than before. */
  slice({ type, object }: Change<KeptSlice>): ReadonlySet<string> {
    const { uid } = object.metadata;
    const before = this.#slices.get(uid);
    const touched = new Set<string>();
    // First what is new: a pod that moves from one slice to another is never listed nowhere.
    if (type === "there") {
      this.#slices.set(uid, object);
      this.#count(object, 1, touched);
    } else this.#slices.delete(uid);
    if (before) this.#count(before, -1, touched);
    for (const pod of touched) this.#forgetIfGone(pod);
    return touched;
  }

  isReady(uid: string): boolean {
    return (this.#pods.get(uid)?.ready ?? 0) > 0;
  }

  /** It is published until it is gone, whatever becomes of it. */
  isPinned(uid: string): boolean {
    return (this.#pods.get(uid)?.pinned ?? 0) > 0;
  }

  servicesOf(uid: string): Iterable<string> {
    return this.#pods.get(uid)?.services ?? [];
  }

  podGone(uid: string): void {
    this.#forgetIfGone(uid);
  }

  #forgetIfGone(uid: string): void {
    if (this.#pods.get(uid)?.slices === 0 && !this.#isThere(uid)) this.#pods.delete(uid);
  }

  #count({ endpoints, service }: KeptSlice, by: 1 | -1, touched: Set<string>): void {
    for (const { uid, isReady, isTerminating } of endpoints) {
      let listing = this.#pods.get(uid);
      if (!listing) {
        listing = { ready: 0, pinned: 0, slices: 0, services: new Set() };
        this.#pods.set(uid, listing);
      }
      listing.slices += by;
      if (isReady) listing.ready += by;
      if (isReady && isTerminating) listing.pinned += by;
      if (by === 1) listing.services.add(service);
      touched.add(uid);
    }
  }
}

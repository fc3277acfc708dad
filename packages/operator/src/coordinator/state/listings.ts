import type { Change } from "@lameduck/kube";
import type { KeptSlice } from "./objects.ts";

/** What the EndpointSlices say of one pod. */
interface Listing {
  /** Slices that publish it as ready. */
  ready: number;
  /** Slices among them that list it as ready although it terminates (`publishNotReadyAddresses`). */
  pinned: number;
  slices: number;
  /** Services that list it or have listed it, as "NAMESPACE/NAME". */
  readonly services: Set<string>;
}

/** Which slices list which pods. Services that no longer list a pod are kept: their consumers may still send to it. */
export class Listings {
  readonly #slices = new Map<string, KeptSlice>();
  readonly #pods = new Map<string, Listing>();
  readonly #isThere: (uid: string) => boolean;

  /** @param isThere whether a pod exists. The Services of one that does not are dropped. */
  constructor(isThere: (uid: string) => boolean) {
    this.#isThere = isThere;
  }

  /** @returns the pods for which the slice changes something. */
  slice({ type, object }: Change<KeptSlice>): ReadonlySet<string> {
    const { uid } = object.metadata;
    const before = this.#slices.get(uid);
    const touched = new Set<string>();
    // New entries first, so that a pod that moves between slices is listed all the time.
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

  /** Whether it is listed as ready until it is gone. */
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

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

/** A pod as a slice may list it: anybody may write the uid of another namespace's pod into a slice, and that says nothing. */
export interface ListedPod {
  readonly namespace: string;
  readonly uid: string;
}

/** Which slices list which pods. Services that no longer list a pod are kept: their consumers may still send to it. */
export class Listings {
  readonly #slices = new Map<string, KeptSlice>();
  /** By "NAMESPACE/UID", the namespace being that of the slices. */
  readonly #pods = new Map<string, Listing>();
  readonly #isThere: (pod: ListedPod) => boolean;

  /** @param isThere whether a pod exists. The Services of one that does not are dropped. */
  constructor(isThere: (pod: ListedPod) => boolean) {
    this.#isThere = isThere;
  }

  /** @returns the uids for which the slice changes something, if the pods are of its namespace. */
  slice({ type, object }: Change<KeptSlice>): ReadonlySet<string> {
    const { uid, namespace = "" } = object.metadata;
    const before = this.#slices.get(uid);
    const touched = new Set<string>();
    // New entries first, so that a pod that moves between slices is listed all the time.
    if (type === "there") {
      this.#slices.set(uid, object);
      this.#count(object, 1, touched);
    } else this.#slices.delete(uid);
    if (before) this.#count(before, -1, touched);
    for (const pod of touched) this.#forgetIfGone({ namespace, uid: pod });
    return touched;
  }

  isReady(pod: ListedPod): boolean {
    return (this.#of(pod)?.ready ?? 0) > 0;
  }

  /** Whether it is listed as ready until it is gone. */
  isPinned(pod: ListedPod): boolean {
    return (this.#of(pod)?.pinned ?? 0) > 0;
  }

  servicesOf(pod: ListedPod): Iterable<string> {
    return this.#of(pod)?.services ?? [];
  }

  podGone(pod: ListedPod): void {
    this.#forgetIfGone(pod);
  }

  #of(pod: ListedPod): Listing | undefined {
    return this.#pods.get(keyOf(pod));
  }

  #forgetIfGone(pod: ListedPod): void {
    if (this.#of(pod)?.slices === 0 && !this.#isThere(pod)) this.#pods.delete(keyOf(pod));
  }

  #count({ metadata, endpoints, service }: KeptSlice, by: 1 | -1, touched: Set<string>): void {
    for (const { uid, isReady, isTerminating } of endpoints) {
      const key = keyOf({ namespace: metadata.namespace ?? "", uid });
      let listing = this.#pods.get(key);
      if (!listing) {
        listing = { ready: 0, pinned: 0, slices: 0, services: new Set() };
        this.#pods.set(key, listing);
      }
      listing.slices += by;
      if (isReady) listing.ready += by;
      if (isReady && isTerminating) listing.pinned += by;
      if (by === 1) listing.services.add(service);
      touched.add(uid);
    }
  }
}

function keyOf({ namespace, uid }: ListedPod): string {
  return `${namespace}/${uid}`;
}

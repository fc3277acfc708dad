import type { Change } from "@lameduck/kube";
import type { KeptSlice } from "./objects.ts";
import { type ReadinessEffect, ReadyEndpoints } from "./ready-endpoints.ts";

/** What the EndpointSlices say of one pod. */
interface Listing {
  /** Slices that publish it as ready. */
  ready: number;
  /** Slices among them that list it as ready although it terminates (`publishNotReadyAddresses`). */
  pinned: number;
  slices: number;
  /** When a Service last began to publish it as one that proxies may choose. */
  publishedAt: number;
  /** Slices that publish it so, by the Services that list it or have listed it, as "NAMESPACE/NAME". */
  readonly services: Map<string, number>;
  /** Slices that reserve it for a zone or node, by "NAMESPACE/SERVICE PLACE". */
  reserved?: Map<string, number>;
}

/** What a change of a slice means. */
export interface SliceEffect extends ReadinessEffect {
  /** The uids and addresses for which it changes something, if the pods are of its namespace. */
  readonly touched: ReadonlySet<string>;
}

/** A pod as a slice may list it: anybody may write the uid of another namespace's pod into a slice, and that says nothing. */
export interface ListedPod {
  readonly namespace: string;
  readonly uid: string;
  readonly addresses: readonly string[];
}

/** Which slices list which pods. Services that no longer list a pod are kept: their consumers may still send to it. */
export class Listings {
  readonly #slices = new Map<string, KeptSlice>();
  /** By "NAMESPACE/UID" and "NAMESPACE/ADDRESS", the namespace being that of the slices. */
  readonly #pods = new Map<string, Listing>();
  readonly #ready = new ReadyEndpoints();
  readonly #isThere: (namespace: string, pod: string) => boolean;

  /** @param isThere whether a pod with this uid or address exists. The Services of one that does not are dropped. */
  constructor(isThere: (namespace: string, pod: string) => boolean) {
    this.#isThere = isThere;
  }

  slice({ type, object }: Change<KeptSlice>, now: number): SliceEffect {
    const { uid, namespace = "" } = object.metadata;
    const before = this.#slices.get(uid);
    const touched = new Set<string>();
    // New entries first, so that a pod that moves between slices is listed all the time.
    if (type === "there") {
      this.#slices.set(uid, object);
      this.#count(object, 1, touched, now);
    } else this.#slices.delete(uid);
    const readiness = this.#ready.replace(before, type === "there" ? object : undefined);
    if (before) this.#count(before, -1, touched, now);
    for (const pod of touched) this.#forgetIfGone(namespace, pod);
    return { touched, ...readiness };
  }

  isReady(pod: ListedPod): boolean {
    return this.#of(pod).some(({ ready }) => ready > 0);
  }

  /** When a Service last began to publish it as one that proxies may choose, milliseconds: one that is ready, or that terminates and serves. */
  publishedAt(pod: ListedPod): number {
    return Math.max(-Infinity, ...this.#of(pod).map(({ publishedAt }) => publishedAt));
  }

  /** Whether it is listed as ready until it is gone. */
  isPinned(pod: ListedPod): boolean {
    return this.#of(pod).some(({ pinned }) => pinned > 0);
  }

  servicesOf(pod: ListedPod): readonly string[] {
    return this.#of(pod).flatMap(({ services }) => [...services.keys()]);
  }

  podGone({ namespace, uid, addresses }: ListedPod): void {
    for (const pod of [uid, ...addresses]) this.#forgetIfGone(namespace, pod);
  }

  #of({ namespace, uid, addresses }: ListedPod): readonly Listing[] {
    return [uid, ...addresses].flatMap((pod) => this.#pods.get(`${namespace}/${pod}`) ?? []);
  }

  #forgetIfGone(namespace: string, pod: string): void {
    const key = `${namespace}/${pod}`;
    if (this.#pods.get(key)?.slices === 0 && !this.#isThere(namespace, pod)) this.#pods.delete(key);
  }

  #count({ metadata, endpoints, service }: KeptSlice, by: 1 | -1, touched: Set<string>, now: number): void {
    for (const { pod, isReady, isTerminating, isServing, reservedFor } of endpoints) {
      const key = `${metadata.namespace ?? ""}/${pod}`;
      let listing = this.#pods.get(key);
      if (!listing) {
        listing = { ready: 0, pinned: 0, slices: 0, publishedAt: -Infinity, services: new Map() };
        this.#pods.set(key, listing);
      }
      listing.slices += by;
      if (isReady) listing.ready += by;
      if (isReady && isTerminating) listing.pinned += by;
      const chosenBy = listing.services.get(service) ?? 0;
      const mayBeChosen = isReady || (isTerminating && isServing !== false);
      if (mayBeChosen && chosenBy === 0) listing.publishedAt = now;
      listing.services.set(service, mayBeChosen ? chosenBy + by : chosenBy);
      for (const place of isReady ? (reservedFor ?? []) : []) {
        const reserved = (listing.reserved ??= new Map<string, number>());
        const where = `${service} ${place}`;
        const count = reserved.get(where) ?? 0;
        if (count === 0) listing.publishedAt = now;
        if (count + by > 0) reserved.set(where, count + by);
        else reserved.delete(where);
      }
      touched.add(pod);
    }
  }
}

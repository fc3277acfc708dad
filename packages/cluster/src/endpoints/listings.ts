import type { Change } from "@lameduck/kube";
import type { SlimSlice } from "../objects.ts";
import { type ReadinessEffect, ReadyEndpoints } from "./ready-endpoints.ts";

/** Slices of one Service that list a pod. None where they did before: proxies may still send to it. */
interface Listed {
  slices: number;
  /** Those by which proxies may choose it. */
  chosen: number;
}

/** Services that have listed a pod and do so no more: those that did last are kept. Labels may be changed without end. */
const mostFormer = 100;

/** What the EndpointSlices say of one pod. */
interface Listing {
  /** Slices that publish it as ready. */
  ready: number;
  /** Slices among them that list it as ready although it terminates (`publishNotReadyAddresses`). */
  publishedNotReady: number;
  slices: number;
  /** When a Service last began to publish it as one that proxies may choose. */
  publishedAt: number;
  /** By Service, as "NAMESPACE/NAME". */
  readonly services: Map<string, Listed>;
  /** Slices that reserve it for a zone or node, by "NAMESPACE/SERVICE PLACE". */
  reserved?: Map<string, number>;
}

/** What a change of a slice means. */
export interface SliceEffect extends ReadinessEffect {
  /** The uids and addresses for which it changes something, if the pods are of its namespace. */
  readonly touched: ReadonlySet<string>;
  /** Its Service's endpoints may have been otherwise meanwhile. */
  readonly mayHaveMissedChange: boolean;
}

/** A pod as a slice may list it: anybody may write the uid of another namespace's pod into a slice, and that says nothing. */
export interface ListedPod {
  readonly namespace: string;
  readonly uid: string;
  readonly addresses: readonly string[];
}

/** Which slices list which pods. Services that no longer list a pod are kept: their consumers may still send to it. */
export class Listings {
  readonly #slices = new Map<string, SlimSlice>();
  /** By "NAMESPACE/UID" and "NAMESPACE/ADDRESS", the namespace being that of the slices. */
  readonly #pods = new Map<string, Listing>();
  readonly #ready = new ReadyEndpoints();
  readonly #gaps = new ListGaps();
  readonly #isThere: (namespace: string, pod: string) => boolean;

  /** @param isThere whether a pod with this uid or address exists. The Services of one that does not are dropped. */
  constructor(isThere: (namespace: string, pod: string) => boolean) {
    this.#isThere = isThere;
  }

  slice(change: Change<SlimSlice>, now: number): SliceEffect {
    const { type, object } = change;
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
    return { touched, mayHaveMissedChange: this.#gaps.mayHaveMissedChange(before, change), ...readiness };
  }

  isReady(pod: ListedPod): boolean {
    return this.#of(pod).some(({ ready }) => ready > 0);
  }

  /** When a Service last began to publish it as one that proxies may choose, milliseconds: one that is ready, or that terminates and serves. */
  publishedAt(pod: ListedPod): number {
    return Math.max(-Infinity, ...this.#of(pod).map(({ publishedAt }) => publishedAt));
  }

  /** Whether it is listed as ready until it is gone. */
  publishesNotReady(pod: ListedPod): boolean {
    return this.#of(pod).some(({ publishedNotReady }) => publishedNotReady > 0);
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

  /** The Service lists it no more. */
  #left({ services }: Listing, service: string, namespace: string, pod: string): void {
    const listed = services.get(service);
    services.delete(service);
    if (!listed || !this.#isThere(namespace, pod)) return;
    services.set(service, listed);
    const former = [...services].filter(([, { slices }]) => slices === 0);
    for (const [name] of former.slice(0, -mostFormer)) services.delete(name);
  }

  #count({ metadata, endpoints, service }: SlimSlice, by: 1 | -1, touched: Set<string>, now: number): void {
    for (const { pod, isReady, isTerminating, isServing, reservedFor } of endpoints) {
      const key = `${metadata.namespace ?? ""}/${pod}`;
      let listing = this.#pods.get(key);
      if (!listing) {
        listing = { ready: 0, publishedNotReady: 0, slices: 0, publishedAt: -Infinity, services: new Map() };
        this.#pods.set(key, listing);
      }
      listing.slices += by;
      if (isReady) listing.ready += by;
      if (isReady && isTerminating) listing.publishedNotReady += by;
      const listed = listing.services.get(service) ?? { slices: 0, chosen: 0 };
      const mayBeChosen = isReady || (isTerminating && isServing !== false);
      if (mayBeChosen && listed.chosen === 0) listing.publishedAt = now;
      if (mayBeChosen) listed.chosen += by;
      listed.slices += by;
      listing.services.set(service, listed);
      if (listed.slices === 0) this.#left(listing, service, metadata.namespace ?? "", pod);
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

/**
 * Tells whether a list hides a state in which a Service's endpoints have been since they were last known. The API server counts the changes of each
 * slice (`metadata.generation`). A slice that is one change further has been in no other state. Where two slices have changed, a list does not say
 * which came first. Proxies look at each Service and each family of addresses alone, and so does this.
 */
class ListGaps {
  #listedAt = NaN;
  /** Services and families of addresses of which this list has shown a changed slice. */
  readonly #changed = new Set<string>();

  mayHaveMissedChange(before: SlimSlice | undefined, { type, object, at, live }: Change<SlimSlice>): boolean {
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

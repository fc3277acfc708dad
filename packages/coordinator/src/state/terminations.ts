import type { Change } from "@lameduck/kube";
import type { PolicySettings } from "../settings.ts";
import type { Consumers } from "./consumers.ts";
import { Listings, type KeptPod, type KeptSlice, addedWithin, type Routing } from "@lameduck/cluster";
import { ConsumerProgress } from "./consumer-progress.ts";
import { Lingering } from "./lingering.ts";
import type { Nodes } from "./nodes.ts";
import { Numbering } from "./numbering.ts";
import { Pods } from "./pods.ts";
import { TerminationRecord } from "./record.ts";
import { Releases } from "./releases.ts";
import { GroupStates } from "./consumer-groups.ts";
import type { Withdrawals } from "./withdrawals.ts";

/** Called after each change of a termination. */
export interface TerminationEvents {
  began(record: TerminationRecord): void;
  /** It was withdrawn or released, a container ended, or the pod sent a report. */
  changed(record: TerminationRecord): void;
  /** The state that its pod is answered has changed. */
  stateChanged(record: TerminationRecord): void;
  /** Its pod is to end its hold at once. */
  toEnd(record: TerminationRecord): void;
  /** Its containers have ended a while ago, and its object stays. */
  lingers(record: TerminationRecord): void;
  ended(record: TerminationRecord): void;
}

/** Milliseconds after the first read of the cluster, during which a consumer without a report counts as late, not as missing. */
const reportGrace = 10_000;
/**
 * No list says how many proxies serve a class: they are those that report. Milliseconds until all of them report to this replica: they resolve
 * its name every 10 s, and the name has its address 5 s after the start.
 */
const membershipGrace = 20_000;
/** Milliseconds after the last question about a pod that is not being deleted, until its record is dropped. */
const heldFor = 60_000;

/** A longer pause between two decisions, in milliseconds, means that this process stood still: eight times the usual one. */
const longestPause = 2_000;

export interface TerminationsOptions {
  readonly nodes: Nodes;
  readonly consumers: Consumers;
  readonly withdrawals: Withdrawals;
  readonly routing: Routing;
  readonly settings: PolicySettings;
  readonly events: TerminationEvents;
  /** Whether every list is read that may name a consumer. */
  readonly seesAll: () => boolean;
  /** Whether a pod that is listed as ready is so in the cluster. */
  readonly knowsEndpoints: () => boolean;
}

/** All pods, the terminating ones among them, and the release state of each. Pure: it is fed changes and times. */
export class Terminations {
  readonly pods = new Pods();
  readonly listings = new Listings(
    (namespace, pod) => (this.pods.get(pod) ?? this.pods.at(pod))?.metadata.namespace === namespace,
  );
  readonly releases: Releases;
  readonly progress: ConsumerProgress;
  readonly #options: TerminationsOptions;
  readonly #records = new Map<string, TerminationRecord>();
  /** Those that are not released yet. */
  readonly #pending = new Set<TerminationRecord>();
  readonly #askedAt = new Map<TerminationRecord, number>();
  readonly #lingering = new Lingering();
  readonly #groupStates: GroupStates;
  readonly #numbering: Numbering;
  #syncedAt: number | undefined;

  constructor(options: TerminationsOptions) {
    this.#options = options;
    const { nodes, consumers, withdrawals, routing, settings } = options;
    const groupStates = new GroupStates(consumers, withdrawals);
    this.#groupStates = groupStates;
    this.releases = new Releases({ listings: this.listings, routing, nodes, groupStates });
    this.progress = new ConsumerProgress(this.releases, groupStates);
    this.#numbering = new Numbering(withdrawals, this.listings, this.releases, settings);
    this.#consumersOf = (record) => this.progress.consumers(record, settings.of(record.namespace), this.#now);
  }

  readonly #consumersOf: ConstructorParameters<typeof TerminationRecord>[1];
  #now = 0;

  get records(): ReadonlyMap<string, TerminationRecord> {
    return this.#records;
  }

  get pending(): number {
    return this.#pending.size + this.#lingering.size;
  }

  get isSynced(): boolean {
    return this.#syncedAt !== undefined;
  }

  get syncedAt(): number | undefined {
    return this.#syncedAt;
  }

  /** Every list has been read once. Withdrawals are numbered from here on: a pod may be missing in a list that is read by half. */
  synced(now: number): void {
    if (this.#syncedAt !== undefined) return;
    this.#syncedAt = now;
    this.#tick(now);
    for (const pod of this.pods.all) if (pod.deletedAt !== undefined) this.#begin(pod, now);
  }

  pod({ type, object }: Change<KeptPod>, now: number): void {
    this.#tick(now);
    const { uid, namespace = "" } = object.metadata;
    if (type === "gone") {
      this.pods.remove(object);
      this.listings.podGone({ uid, namespace, addresses: object.addresses });
      const record = this.#records.get(uid);
      if (record) this.#end(record, now);
      return;
    }
    this.pods.put(object);
    if (!this.isSynced) return;
    const record = this.#records.get(uid);
    if (record) this.#update(record, object, now);
    else if (object.deletedAt !== undefined) this.#begin(object, now);
  }

  slice(change: Change<KeptSlice>, now: number): void {
    this.#tick(now);
    const [{ routing }, { service }] = [this.#options, change.object];
    const { touched, isGap, emptied, isWidened, isOpened } = this.listings.slice(change, now);
    if (isGap || isOpened) routing.mayBeChosen(service, now);
    for (const node of emptied) routing.emptied(service, node, now);
    for (const pod of touched) {
      const record = this.#records.get(this.pods.at(pod)?.metadata.uid ?? pod);
      if (!record) continue;
      this.releases.forgetRoutes(record);
      this.#number(record, now);
      if (!change.live) record.isMeasured = false;
    }
    // What it withdraws was chosen because of earlier changes only.
    if (isWidened) routing.widened(service, now);
  }

  /** Follows a pod as if it were being deleted: somebody asks whether it could be. */
  follow(uid: string, now: number): TerminationRecord | undefined {
    this.#tick(now);
    const pod = this.pods.get(uid);
    if (!pod || !this.isSynced) return undefined;
    const record = this.#records.get(uid) ?? this.#add(pod, now);
    if (record.isHeldOnly) this.#askedAt.set(record, now);
    this.releases.begin(now);
    if (this.#pending.has(record)) this.#decide(record, now);
    return record;
  }

  /** Whether no Service lists it, nor has listed it for so long that proxies have applied that, and nobody else is known who might send to it. */
  isUnlisted(record: TerminationRecord, now: number): boolean {
    const { isHostNetwork, hasHostPort, namespace } = record;
    const isKnown = this.#syncedAt !== undefined && now - this.#syncedAt > addedWithin;
    const { external } = this.#options.settings.of(namespace);
    if (!isKnown || isHostNetwork || hasHostPort || external !== undefined) return false;
    return !this.releases.hasServices(record);
  }

  /** Takes a report of the pod. Later values replace earlier ones. */
  report(record: TerminationRecord, fields: Readonly<Record<string, string>>, now: number): void {
    this.#tick(now);
    record.reported = { ...record.reported, ...fields };
    const { senders, overruled } = fields;
    if (overruled !== undefined && !record.isHeldOnly) record.overruledBy ??= overruled;
    const { nodes } = this.#options;
    if (senders !== undefined)
      record.sees(senders.split(/\s+/).map((one) => nodes.at(one) ?? this.pods.nodeAt(one)));
    this.#options.events.changed(record);
  }

  /** Decides about every pending termination: consumers may have reported meanwhile, or been silent for too long. */
  decide(now: number): void {
    this.#tick(now);
    this.releases.begin(now);
    for (const record of this.#pending) this.#decide(record, now);
    for (const [record, askedAt] of this.#askedAt)
      if (now - askedAt > heldFor) {
        this.#askedAt.delete(record);
        if (record.isHeldOnly) this.#forget(record);
      }
    for (const record of this.#lingering.take(now)) {
      this.#options.events.lingers(record);
      record.isLingering = true;
    }
  }

  /** After a pause of this process no consumer counts as silent: reports sent meanwhile are not read yet. */
  #tick(now: number): void {
    if (now - this.#now > longestPause) this.#groupStates.listenFrom(now);
    this.#now = now;
  }

  #begin(pod: KeptPod, now: number): void {
    const record = this.#add(pod, now);
    this.#options.events.began(record);
    if (record.withdrawnAt !== undefined) this.#options.events.changed(record);
  }

  #add(pod: KeptPod, now: number): TerminationRecord {
    const record = new TerminationRecord(pod, this.#consumersOf, now);
    this.#records.set(record.uid, record);
    this.#pending.add(record);
    record.isFinished = pod.isFinished;
    record.finalizers = pod.finalizers;
    if (pod.isFinished) this.#lingering.finished(record, now);
    // What leads to the pod must be looked up now: it is unknown once the pod is gone.
    this.releases.routesTo(record);
    this.#number(record, now, false);
    // It may have been withdrawn long ago.
    record.isMeasured = false;
    return record;
  }

  #update(record: TerminationRecord, pod: KeptPod, now: number): void {
    if (record.isHeldOnly && pod.deletedAt !== undefined) {
      record.isHeldOnly = false;
      record.deletedAt = pod.deletedAt;
      this.#askedAt.delete(record);
      this.#options.events.began(record);
    }
    // The record may be older than an address of the pod. Consumers have not looked for it yet.
    if (pod.addresses.some((address) => !record.addresses.includes(address))) {
      this.#takeBack(record);
      record.addresses = pod.addresses;
      this.releases.forgetRoutes(record);
    }
    if (pod.isToEnd && !record.isToEnd) {
      record.isToEnd = true;
      this.#options.events.toEnd(record);
    }
    const hasNewExits = pod.exits.length !== record.exits.length;
    record.exits = pod.exits;
    record.finalizers = pod.finalizers;
    if (pod.isFinished && !record.isFinished) {
      record.isFinished = true;
      this.#lingering.finished(record, now);
      // Another pod may soon have its address, and nothing listens there any more.
      this.#numbering.drop(record);
    }
    if (hasNewExits) this.#changed(record);
    this.#number(record, now);
  }

  /** Follows whether the pod is among the ready endpoints. */
  #number(record: TerminationRecord, now: number, isNews = true): void {
    this.#numbering.listed(record);
    const isReady = this.listings.isReady(record);
    if (isReady === (record.withdrawnAt === undefined)) return;
    if (isReady) this.#takeBack(record);
    else this.#numbering.withdraw(record, now);
    if (isNews) this.#changed(record);
  }

  #takeBack(record: TerminationRecord): void {
    if (record.withdrawnAt === undefined) return;
    this.#numbering.takeBack(record);
    this.#pending.add(record);
    this.#setState(record, "waiting");
  }

  #decide(record: TerminationRecord, now: number): void {
    this.#numbering.number(record, now);
    const settings = this.#options.settings.of(record.namespace);
    const found = this.releases.decide(record, settings, now);
    const decided = found === "released" && !this.#options.seesAll() ? "incomplete" : found;
    const age = now - (this.#syncedAt ?? 0);
    const isEarly =
      (decided === "incomplete" && age < reportGrace && record.number !== undefined) ||
      (decided === "released" && age < membershipGrace && this.releases.hasUnlisted(record, settings));
    const settled = isEarly ? "waiting" : decided;
    const state = settled === "waiting" && this.#isBlindTo(record) ? "unknown" : settled;
    if (state === record.state) return;
    if (state === "released") {
      record.releasedAt = now;
      this.#pending.delete(record);
    }
    this.#setState(record, state);
    if (state === "released") this.#changed(record);
  }

  /** Whether it may have been withdrawn without being heard of here. */
  #isBlindTo({ withdrawnAt }: TerminationRecord): boolean {
    return withdrawnAt === undefined && !this.#options.knowsEndpoints();
  }

  #setState(record: TerminationRecord, state: TerminationRecord["state"]): void {
    if (record.state === state) return;
    record.state = state;
    this.#options.events.stateChanged(record);
  }

  #changed(record: TerminationRecord): void {
    if (!record.isHeldOnly && !record.isLingering) this.#options.events.changed(record);
  }

  #end(record: TerminationRecord, now: number): void {
    record.goneAt = now;
    this.#forget(record);
    if (!record.isHeldOnly) this.#options.events.ended(record);
  }

  #forget(record: TerminationRecord): void {
    this.#records.delete(record.uid);
    this.#pending.delete(record);
    this.#askedAt.delete(record);
    this.#lingering.forget(record);
    this.#numbering.drop(record);
  }
}

import type { Change } from "@lameduck/kube";
import { Listings, type SlimPod, type SlimSlice, addedWithinMs, type Routing } from "@lameduck/cluster";
import type { PolicySettings } from "../settings.ts";
import { GroupStates } from "./consumer-groups.ts";
import { ConsumerProgress } from "./consumer-progress.ts";
import type { Consumers } from "./consumers.ts";
import { FalseAcknowledgers } from "./false-acknowledgers.ts";
import { HalfReadProxies } from "./half-read.ts";
import type { Nodes } from "./nodes.ts";
import { Pods } from "./pods.ts";
import { Releases } from "./releases.ts";
import { StuckConsumers } from "./stuck.ts";
import { type Decision, type Termination, terminationOf, type Transition } from "./termination.ts";
import type { Withdrawals } from "./withdrawals.ts";

/** After the first read of the cluster, during which a consumer without a report counts as late, not as missing. */
const reportGraceMs = 10_000;
/**
 * No list says how many proxies serve a class: they are those that report. It takes so long until all of them report to this replica: they resolve
 * its name every 10 s, and the name has its address 5 s after the start.
 */
const membershipGraceMs = 20_000;
/** A longer pause between two decisions means that this process stood still: eight times the usual one. */
const longestPauseMs = 2_000;

interface TerminationsOptions {
  readonly nodes: Nodes;
  readonly consumers: Consumers;
  readonly withdrawals: Withdrawals;
  readonly routing: Routing;
  readonly settings: PolicySettings;
  readonly onTransition: (termination: Termination, what: Transition) => void;
  /** Consumers that a pod reports for: the proxy's own pod, where the watcher runs beside it. */
  readonly reportedBy: (podUid: string) => readonly string[];
  // Both are asked of `Cluster`, which feeds this with changes and is made after it.
  /** The lists that may name a consumer, and are not read. */
  readonly unread: () => readonly string[];
  /** Whether what the EndpointSlices say here is what they say in the cluster now. */
  readonly knowsEndpoints: () => boolean;
}

/**
 * All pods, and the terminations among them: feeds each with what happens in the cluster, and passes on what comes of it. Pure: it is fed changes and
 * times.
 */
export class Terminations {
  readonly pods = new Pods();
  readonly listings = new Listings(
    (namespace, pod) => (this.pods.get(pod) ?? this.pods.at(pod))?.metadata.namespace === namespace,
  );
  readonly releases: Releases;
  readonly progress: ConsumerProgress;
  readonly stuck: StuckConsumers;
  readonly #options: TerminationsOptions;
  readonly #all = new Map<string, Termination>();
  readonly #groupStates: GroupStates;
  readonly #falseAcknowledgers: FalseAcknowledgers;
  readonly #halfRead: HalfReadProxies;
  #syncedAt: number | undefined;
  #now = 0;

  constructor(options: TerminationsOptions) {
    this.#options = options;
    const { nodes, consumers, withdrawals, routing, settings, reportedBy, unread } = options;
    const groupStates = new GroupStates(consumers, withdrawals);
    this.#groupStates = groupStates;
    this.releases = new Releases({ listings: this.listings, routing, nodes, groupStates, settings });
    this.progress = new ConsumerProgress(this.releases, groupStates, unread);
    this.stuck = new StuckConsumers({
      withdrawals,
      notLetGo: (termination) => this.progress.notLetGo(termination),
    });
    this.#halfRead = new HalfReadProxies(reportedBy, () => this.pods.all);
    this.#falseAcknowledgers = new FalseAcknowledgers({ pods: this.pods, nodes, consumers, reportedBy });
  }

  get all(): ReadonlyMap<string, Termination> {
    return this.#all;
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

  pod(change: Change<SlimPod>, now: number): void {
    const { type, object } = change;
    this.#tick(now);
    this.#options.routing.shows(change, now);
    this.#halfRead.take(change);
    const { uid, namespace = "" } = object.metadata;
    const termination = this.#all.get(uid);
    if (type === "gone") {
      this.pods.remove(object);
      this.listings.podGone({ uid, namespace, addresses: object.addresses });
      if (termination) this.#remove(termination, now);
      return;
    }
    this.pods.put(object);
    this.stuck.taken(uid, object.addresses);
    if (!this.isSynced) return;
    if (!termination) {
      if (object.deletedAt !== undefined) this.#begin(object, now);
      return;
    }
    if (termination.hasNewAddress(object)) this.releases.forgetRoutes(termination);
    this.#tell(termination, termination.update(object, now));
    this.#tell(termination, this.#listed(termination, now));
  }

  slice(change: Change<SlimSlice>, now: number): void {
    this.#tick(now);
    const [{ routing }, { service }] = [this.#options, change.object];
    const { touched, mayHaveMissedChange, lostLastReady, hintsDropped, fallsBackToTerminating } =
      this.listings.slice(change, now);
    if (mayHaveMissedChange || fallsBackToTerminating) routing.mayBeChosen(service, now);
    for (const node of lostLastReady) routing.lostLastReady(service, node, now);
    for (const pod of touched) {
      const termination = this.#all.get(this.pods.at(pod)?.metadata.uid ?? pod);
      if (!termination) continue;
      this.releases.forgetRoutes(termination);
      const happened = this.#listed(termination, now);
      if (!change.live) termination.doubtTimes();
      this.#tell(termination, happened);
    }
    // Noted last: pods that this change withdraws were chosen because of earlier changes.
    if (hintsDropped) routing.hintsDropped(service, now);
  }

  /** Follows a pod as if it were being deleted: somebody asks whether it could be. */
  follow(uid: string, now: number): Termination | undefined {
    this.#tick(now);
    const pod = this.pods.get(uid);
    if (!pod || !this.isSynced) return undefined;
    const termination = this.#all.get(uid) ?? this.#add(pod, now);
    termination.ask(now);
    this.#beginRound(now);
    if (termination.isPending) this.#decide(termination, now);
    return termination;
  }

  /** Whether no Service lists it, nor has listed it for so long that proxies have applied that, and nobody else is known who might send to it. */
  isUnlisted(termination: Termination, now: number): boolean {
    const { isHostNetwork, hasHostPort, namespace } = termination;
    const { settings, routing } = this.#options;
    const isLongSynced = this.#syncedAt !== undefined && now - this.#syncedAt > addedWithinMs;
    // A slice that is left out may list it.
    const isKnown = isLongSynced && !routing.lacksSlices(namespace);
    const { external } = settings.of(namespace);
    if (!isKnown || isHostNetwork || hasHostPort || external !== undefined) return false;
    return this.releases.servicesOf(termination).length === 0;
  }

  /** Takes a report of the pod. @returns what came of it. */
  report(
    termination: Termination,
    fields: Readonly<Record<string, string>>,
    now: number,
  ): readonly Transition[] {
    this.#tick(now);
    const { senders, overruled } = fields;
    const { nodes } = this.#options;
    const from = senders?.split(/\s+/).map((one) => nodes.at(one) ?? this.pods.at(one)?.node);
    const overruling =
      overruled !== undefined && termination.mayBeOverruled
        ? this.#falseAcknowledgers.of(termination, overruled)
        : undefined;
    const happened = termination.report(fields, from, overruling);
    this.#tell(termination, happened);
    return happened;
  }

  /**
   * Decides about every pending termination: consumers may have reported meanwhile, or been silent for too long.
   * @returns whether time alone may decide something.
   */
  decide(now: number): boolean {
    this.#tick(now);
    this.#beginRound(now);
    let isWaiting = false;
    for (const termination of this.#all.values()) {
      if (termination.isPending) this.#decide(termination, now);
      this.#tell(termination, termination.linger(now));
      if (termination.isForgotten(now)) this.#remove(termination, now);
      else isWaiting ||= termination.isWaiting;
    }
    for (const [termination, consumers] of this.stuck.look(now))
      this.#tell(termination, termination.nameStuck(consumers));
    return isWaiting || this.stuck.areAsked;
  }

  /** What holds for all decisions of a round. */
  #beginRound(now: number): void {
    this.#groupStates.begin(this.#halfRead.consumers);
    this.releases.begin(now);
  }

  /** After a pause of this process no consumer counts as silent: reports sent meanwhile are not read yet. */
  #tick(now: number): void {
    if (now - this.#now > longestPauseMs) this.#groupStates.listenFrom(now);
    this.#now = now;
  }

  #begin(pod: SlimPod, now: number): void {
    const termination = this.#add(pod, now);
    const { withdrawnAt, sequence } = termination;
    this.#tell(termination, [
      "began",
      ...(withdrawnAt === undefined ? [] : (["withdrawn"] as const)),
      ...(sequence === undefined ? [] : (["numbered"] as const)),
    ]);
  }

  #add(pod: SlimPod, now: number): Termination {
    const { withdrawals } = this.#options;
    const termination = terminationOf(pod, {
      withdrawals,
      consumersOf: (one) => this.progress.consumers(one, this.#now),
      onEnd: (one) => this.stuck.ended(one, this.#now),
      now,
    });
    this.#all.set(termination.uid, termination);
    // What leads to the pod must be looked up now: it is unknown once the pod is gone.
    this.releases.routesTo(termination);
    this.#listed(termination, now);
    // The pod may have been withdrawn long ago.
    termination.doubtTimes();
    return termination;
  }

  /** Looks whether the pod is among the ready endpoints. */
  #listed(termination: Termination, now: number): readonly Transition[] {
    termination.proxiesSettle(this.listings.publishedAt(termination) + addedWithinMs);
    if (this.listings.isReady(termination)) return termination.publish();
    const withdrawn = termination.withdraw(now);
    return withdrawn.length === 0 ? withdrawn : [...withdrawn, ...this.#number(termination, now)];
  }

  /** Numbers a withdrawal as soon as the answers of consumers mean something. Clients that know its address by DNS have no rules. */
  #number(termination: Termination, now: number): readonly Transition[] {
    if (!termination.isAskable) return [];
    const { releases } = this;
    const services = releases.servicesOf(termination);
    const chosenAt = this.#options.routing.chosenSince(services, termination.node, termination.withdrawnAt);
    termination.proxiesSettle(chosenAt + addedWithinMs);
    const isYoung = now < termination.proxiesSettledAt && releases.hasProxies(termination);
    return isYoung ? termination.unnumber() : termination.number(now, releases.needsToTell(termination));
  }

  #decide(termination: Termination, now: number): void {
    this.#tell(termination, this.#number(termination, now));
    this.#tell(termination, termination.settle(this.#answerFor(termination, now), now));
  }

  #answerFor(termination: Termination, now: number): Decision {
    const { unread, knowsEndpoints } = this.#options;
    const found = this.releases.decide(termination, now);
    const decided: Decision =
      found.state === "released" && unread().length > 0 ? { state: "incomplete", because: "unread" } : found;
    const { state } = decided;
    const ageMs = now - (this.#syncedAt ?? 0);
    const isEarly =
      (state === "incomplete" && ageMs < reportGraceMs && termination.sequence !== undefined) ||
      (state === "released" && ageMs < membershipGraceMs && this.releases.hasUnlisted(termination));
    const settled = isEarly ? { ...decided, state: "waiting" as const } : decided;
    // It may have been withdrawn without being heard of here.
    const isUnheard = termination.withdrawnAt === undefined && !knowsEndpoints();
    return settled.state === "waiting" && isUnheard ? { state: "unknown" } : settled;
  }

  #remove(termination: Termination, now: number): void {
    this.#all.delete(termination.uid);
    this.#tell(termination, termination.remove(now));
  }

  #tell(termination: Termination, happened: readonly Transition[]): void {
    for (const what of happened) this.#options.onTransition(termination, what);
  }
}

import { type AcknowledgementSettings, isSilenced, namesIn } from "@lameduck/inject/policies";
import { addedWithinMs, type Listings, type PodRoutes, type Routing } from "@lameduck/cluster";
import type { Nodes, SendingNode } from "./nodes.ts";
import { isOfBalancer, whoIs } from "@lameduck/senders";
import type { Decision, Termination } from "./termination.ts";
import type { ConsumerGroup, GroupState, GroupStates, WithdrawalQuery } from "./consumer-groups.ts";
import type { PolicySettings } from "../settings.ts";
import { declaredAs } from "./withdrawals.ts";

/** How many groups of consumers matter to one pod, and how far they are. */
interface Count {
  /** Groups that count; absent and silent ones do not. */
  readonly relevant: number;
  readonly applied: number;
  readonly missing: number;
  readonly silent: number;
}

/** So long a DNS server may take to hear of a withdrawal. Until then it hands the address out, for the record's whole time. */
const dnsServersLagMs = 1_000;
/**
 * A pod asks again within 5 s. A replica that does not answer is given up after 7 s, and then another one is asked at once. So one lost
 * answer does not end what a proxy has said. A release ends it.
 */
const believedMs = 16_000;
/** Versions count up from 0. */
const outdatedVersion = -1;

interface Cached {
  readonly version: number;
  readonly services: readonly string[];
  /** A Service lists it as ready until it is gone (`publishNotReadyAddresses`). */
  readonly publishesNotReady: boolean;
  readonly routes: PodRoutes;
  /** Of `routes`: load balancers, which hear of no other pods. */
  readonly balancers: readonly string[];
  readonly groups: readonly ConsumerGroup[];
}

/** How far the search for nodes that are behind has come. */
interface NodeWalk {
  /** Version of the nodes' order. */
  readonly version: number;
  /** Index of the first node that may not have let go. */
  next: number;
}

interface ReleasesOptions {
  readonly listings: Listings;
  readonly routing: Routing;
  readonly nodes: Nodes;
  readonly groupStates: GroupStates;
  readonly settings: Pick<PolicySettings, "of">;
}

/** Decides which consumers matter to a pod, and whether all of them have let go. */
export class Releases {
  readonly #options: ReleasesOptions;
  readonly #groupStates: GroupStates;
  readonly #routes = new WeakMap<Termination, Cached>();
  readonly #walks = new WeakMap<Termination, NodeWalk>();
  readonly #missing = new Map<number, boolean>();
  /** The state of nodes and consumers for which none was missing, by `notReadyAfterSeconds`. */
  readonly #complete = new Map<number, string>();
  /** By the text of the setting. */
  readonly #sendsNothing = new Map<string, ReadonlySet<string>>();
  #now = -Infinity;
  #unreadProxies: { readonly of: string; readonly nodes: ReadonlyMap<string, readonly string[]> } | undefined;

  constructor(options: ReleasesOptions) {
    this.#options = options;
    this.#groupStates = options.groupStates;
  }

  /** Begins a round of decisions, which share what holds for all of them. */
  begin(now: number): void {
    this.#now = now;
    this.#missing.clear();
    this.#options.routing.forget(now);
  }

  /** @returns the state that the pod is answered. A pod without a consumer that counts is never released. */
  decide(termination: Termination, now: number): Decision {
    const query = this.queryOf(termination, now);
    const { settings } = query;
    if (termination.isHostNetwork) return incomplete("host-network");
    if (this.#cached(termination).publishesNotReady) return incomplete("published");
    // Clients of a host port are unknown here, unless a consumer is declared.
    if (termination.hasHostPort && settings.external === undefined) return incomplete("host-port");
    if (termination.sequence === undefined) {
      // Nobody is asked about a pod that has ended before.
      if (termination.isFinished) return incomplete("finished");
      const isYoung = termination.withdrawnAt !== undefined && now < termination.proxiesSettledAt;
      return isYoung ? { state: "waiting", because: "young" } : waiting;
    }
    // Cheap checks come first: most rounds end here, or at the node that was behind in the last round.
    const groups = this.groups(termination);
    const states = groups.map((group) => this.#groupStates.stateOfGroup(group, query));
    if (states.includes("missing")) return incomplete("missing");
    // A load balancer sends on without its watcher. No node's word makes up for its own.
    if (groups.some(({ name }, at) => states[at] === "silent" && isOfBalancer(name)))
      return incomplete("silent");
    const needsEachNode = this.routesTo(termination).throughNodes && settings.quorum === "all";
    if (needsEachNode && this.#isMissing(termination, query)) return incomplete("missing");
    // A quorum is one of nodes: an ingress has as much traffic as hundreds of them.
    if (states.includes("behind")) return waiting;
    if (needsEachNode && !this.#haveNodesApplied(termination, query)) return waiting;
    const { relevant, applied, missing, silent } = this.count(termination, now);
    if (missing > 0) return incomplete("missing");
    if (relevant === 0) return incomplete(silent > 0 ? "silent" : "unlisted");
    if (silent > relevant) return incomplete("silent");
    return applied >= relevant * share(settings.quorum) ? { state: "released" } : waiting;
  }

  /** The groups besides the nodes, and the time for which clients cache DNS answers. */
  groups(termination: Termination): readonly ConsumerGroup[] {
    const { external, dnsTtlSeconds } = this.#settingsOf(termination);
    const { routes } = this.#cached(termination);
    const proxies = routes.throughNodes ? this.#proxiesWithoutReport(termination) : [];
    const known = this.#reporting(termination);
    const groups = proxies.length === 0 ? known : [...known, ...proxies];
    if (external === undefined && routes.byName.length === 0) return groups;
    // The Service knows its clients best. What they keep at least counts beside what the policy says.
    const kept = routes.byName.map(({ stated, least = 0 }) => stated ?? Math.max(least, dnsTtlSeconds));
    const passesMs = Math.max(...kept) * 1_000 + dnsServersLagMs;
    return [
      ...groups,
      ...declaredIn(external).map((need) => this.#groupStates.groupOfNeed(need)),
      ...(kept.length > 0 ? [{ name: "dns/cluster", consumers: [], node: undefined, passesMs }] : []),
    ];
  }

  /** By what consumers are known that hear of no pods but those that concern them. */
  needsToTell(termination: Termination): readonly string[] {
    const { external } = this.#settingsOf(termination);
    const { balancers: known } = this.#cached(termination);
    return external === undefined ? known : [...known, ...declaredIn(external)];
  }

  /** Looks the pod's routes up anew: other slices list it now. */
  forgetRoutes(termination: Termination): void {
    const known = this.#routes.get(termination);
    if (known) this.#routes.set(termination, { ...known, version: outdatedVersion });
  }

  routesTo(termination: Termination): PodRoutes {
    return this.#cached(termination).routes;
  }

  /** The Services that list it, or have listed it. */
  servicesOf(termination: Termination): readonly string[] {
    return this.#cached(termination).services;
  }

  /** Whether proxies lead to it: clients that know its address by DNS have no rules. */
  hasProxies(termination: Termination): boolean {
    const { throughNodes, byName } = this.routesTo(termination);
    return throughNodes || byName.length === 0 || this.hasUnlisted(termination);
  }

  /** Whether no list of the cluster names some of its consumers: they are known by their own reports alone. */
  hasUnlisted(termination: Termination): boolean {
    return this.#settingsOf(termination).external !== undefined || this.#reporting(termination).length > 0;
  }

  /** Who it is that nothing reports for, what shows it, and how long it is waited for: "Istio's sidecars, as Pod shop/client shows; 30 s are assumed". */
  whoIs(termination: Termination, need: string): string | undefined {
    const services = this.servicesOf(termination);
    const [who, shownBy] = [whoIs(need), this.#options.routing.shownBy(services, need)];
    const shown = who === undefined ? shownBy : shownBy === undefined ? who : `${who}, as ${shownBy} shows`;
    const seconds = this.assumedSeconds(need, termination.namespace, services);
    const assumed = seconds === undefined ? [] : [`${seconds} s are assumed`];
    const { consumers } = this.#groupStates.groupOfNeed(need);
    const lacking = this.#groupStates.lacking(consumers);
    const halfRead = lacking === undefined ? [] : [lacking];
    const parts = [...(shown === undefined ? [] : [shown]), ...halfRead, ...assumed];
    return parts.length === 0 ? undefined : parts.join("; ");
  }

  /** How long someone for whom nothing reports may choose a withdrawn pod of these Services: as the DrainPolicy says, else as is known of its kind. */
  assumedSeconds(need: string, namespace: string, services: Iterable<string>): number | undefined {
    const { convergenceSeconds } = this.#options.settings.of(namespace);
    return convergenceSeconds ?? this.#options.routing.convergenceOf(services, need);
  }

  /**
   * How many milliseconds longer somebody is assumed to choose the pod. This is as long as for the slowest of those of whom nobody knows: nothing
   * reports for them, or a watcher that cannot read them. A proxy may also report that it still chooses the pod. It sends on connections that are
   * there, so the silence of new ones says nothing of it.
   */
  assumedMs(termination: Termination, now: number): number {
    const saidMs = this.#sendsByItsOwnWord(termination, now) ? believedMs : 0;
    return Math.max(saidMs, this.#assumedOfUnread(termination, now), this.#assumedOfYoung(termination, now));
  }

  /** A young pod may have had no request yet, and be idle by its own evidence. A late proxy adds it only then, and removes it as late. */
  #assumedOfYoung(termination: Termination, now: number): number {
    const { withdrawnAt = now, proxiesSettledAt } = termination;
    const isYoung = withdrawnAt < proxiesSettledAt && this.hasProxies(termination);
    return isYoung ? Math.max(0, withdrawnAt + addedWithinMs - now) : 0;
  }

  #sendsByItsOwnWord(termination: Termination, now: number): boolean {
    if (termination.state !== "waiting" || termination.sequence === undefined) return false;
    const query = this.queryOf(termination, now);
    return this.#reporting(termination).some(
      ({ name, consumers }) => !isOfBalancer(name) && this.#groupStates.saysSo(consumers, query),
    );
  }

  #assumedOfUnread(termination: Termination, now: number): number {
    const { namespace, state, withdrawnAt = state === "waiting" ? now : -Infinity } = termination;
    const services = this.servicesOf(termination);
    const query = this.queryOf(termination, now);
    const seconds = this.groups(termination)
      .filter(
        ({ consumers, passesMs }) => passesMs === undefined && this.#groupStates.isUnread(consumers, query),
      )
      .map(({ name }) => this.assumedSeconds(name, namespace, services) ?? 0);
    return Math.max(0, withdrawnAt + Math.max(0, ...seconds) * 1_000 - now);
  }

  /** Whether nothing that is said of a sender keeps pods of the namespace from a release: it sends nothing to them, or somebody reports. */
  isReported(need: string, namespace: string): boolean {
    if (this.#sendsNothingTo(namespace, need)) return true;
    const lacking = this.#nodesWithoutReport().get(need);
    if (lacking !== undefined) return lacking.length === 0;
    const { consumers } = this.#groupStates.groupOfNeed(need);
    return consumers.length > 0 && !this.#groupStates.isHalfRead(consumers);
  }

  /** The nodes that matter. */
  nodesOf(termination: Termination): readonly SendingNode[] {
    if (!this.routesTo(termination).throughNodes) return [];
    const { all } = this.#options.nodes;
    const { seenNodes } = termination;
    if (this.#settingsOf(termination).consumers === "all" || seenNodes === undefined) return all;
    return all.filter(({ name }) => seenNodes.has(name));
  }

  /** What consumers are asked. Before they are, none of them has applied the withdrawal. */
  queryOf(termination: Termination, now: number): WithdrawalQuery {
    const { sequence = Infinity, withdrawnAt = Infinity } = termination;
    return { sequence, withdrawnAt, settings: this.#settingsOf(termination), now };
  }

  count(termination: Termination, now: number): Count {
    const query = this.queryOf(termination, now);
    const counts: Record<GroupState, number> = { applied: 0, behind: 0, missing: 0, silent: 0, absent: 0 };
    for (const group of this.groups(termination)) counts[this.#groupStates.stateOfGroup(group, query)]++;
    for (const node of this.nodesOf(termination)) counts[this.#groupStates.stateOfNode(node, query)]++;
    const { applied, behind, missing, silent } = counts;
    return { relevant: applied + behind + missing, applied, missing, silent };
  }

  #settingsOf({ namespace }: Termination): AcknowledgementSettings {
    return this.#options.settings.of(namespace);
  }

  /** The groups that report for what leads to it, without those that send nothing. */
  #reporting(termination: Termination): readonly ConsumerGroup[] {
    const { groups } = this.#cached(termination);
    const { namespace } = termination;
    const isSilent = this.#thatSendNothing(namespace).size > 0;
    return isSilent ? groups.filter(({ name }) => !this.#sendsNothingTo(namespace, name)) : groups;
  }

  #sendsNothingTo(namespace: string, need: string): boolean {
    return isSilenced(this.#thatSendNothing(namespace), need);
  }

  #thatSendNothing(namespace: string): ReadonlySet<string> {
    const { sendsNothing = "" } = this.#options.settings.of(namespace);
    const known = this.#sendsNothing.get(sendsNothing) ?? new Set(namesIn(sendsNothing));
    this.#sendsNothing.set(sendsNothing, known);
    return known;
  }

  /** Proxies on nodes that count, in kube-proxy's place or beside it, for which nothing reports there. */
  #proxiesWithoutReport(termination: Termination): readonly ConsumerGroup[] {
    const all = this.#nodesWithoutReport();
    if (all.size === 0) return [];
    const { consumers, notReadyAfterSeconds } = this.#settingsOf(termination);
    const { nodes } = this.#options;
    const { seenNodes } = termination;
    const counts = (name: string): boolean => {
      const node = nodes.named(name);
      if (node === undefined || (consumers === "seen" && seenNodes?.has(name) === false)) return false;
      return this.#now - node.notReadySince < notReadyAfterSeconds * 1_000;
    };
    return [...all].flatMap(([need, names]) =>
      names.some(counts) && !this.#sendsNothingTo(termination.namespace, need)
        ? [{ name: need, consumers: [], node: undefined }]
        : [],
    );
  }

  /** By need: the nodes on which such a proxy runs, and no consumer reports for it there. */
  #nodesWithoutReport(): ReadonlyMap<string, readonly string[]> {
    const { routing, nodes } = this.#options;
    const of = `${routing.version}/${nodes.readiness}/${this.#groupStates.membership}`;
    if (this.#unreadProxies?.of !== of) {
      const lacking = new Map<string, readonly string[]>();
      for (const [need, running = nodes.all.map(({ name }) => name)] of routing.nodeProxies())
        lacking.set(need, [
          ...(lacking.get(need) ?? []),
          ...[...running].filter((node) => !this.#groupStates.reportsOn(node, need)),
        ]);
      // Where nobody reports for any of them, the need is missing as it is.
      for (const [need, running] of routing.proxiesBeside()) {
        const read = new Set(this.#groupStates.groupOfNeed(need).consumers.map(({ node }) => node));
        if (read.size > 0)
          lacking.set(
            need,
            [...running].filter((node) => !read.has(node)),
          );
      }
      this.#unreadProxies = { of, nodes: lacking };
    }
    return this.#unreadProxies.nodes;
  }

  #cached(termination: Termination): Cached {
    const { listings, routing } = this.#options;
    const known = this.#routes.get(termination);
    const { version } = routing;
    if (known?.version === version) return known;
    const services = listings.servicesOf(termination);
    // No slice lists a pod that is gone. Its record still names the consumers that mattered to it.
    if (known && known.services.length > 0 && services.length === 0) return known;
    const routes = routing.of(services, termination.namespace);
    const groups = routes.requiredReporters.map((need) => this.#groupStates.groupOfNeed(need));
    const cached = {
      version,
      services,
      publishesNotReady: listings.publishesNotReady(termination),
      routes,
      balancers: routes.requiredReporters.filter(isOfBalancer),
      groups,
    };
    this.#routes.set(termination, cached);
    return cached;
  }

  /** Whether some node has no consumer that reports for it. */
  #isMissing(termination: Termination, query: WithdrawalQuery): boolean {
    const { consumers, notReadyAfterSeconds: key } = query.settings;
    if (consumers === "seen")
      return this.nodesOf(termination).some(
        (node) => this.#groupStates.stateOfNode(node, query) === "missing",
      );
    let known = this.#missing.get(key);
    if (known === undefined) {
      const { nodes } = this.#options;
      // No consumer becomes missing unless nodes or consumers change. This saves a walk along thousands of nodes in each round.
      const there = `${nodes.readiness}/${this.#groupStates.membership}`;
      known =
        this.#complete.get(key) !== there &&
        nodes.all.some((node) => this.#groupStates.stateOfNode(node, query) === "missing");
      if (known) this.#complete.delete(key);
      else this.#complete.set(key, there);
      this.#missing.set(key, known);
    }
    return known;
  }

  /** Starts at the node where the last round stopped: nodes before it have applied the withdrawal, and stay so. */
  #haveNodesApplied(termination: Termination, query: WithdrawalQuery): boolean {
    if (query.settings.consumers === "seen")
      return this.nodesOf(termination).every(
        (node) => this.#groupStates.stateOfNode(node, query) !== "behind",
      );
    const { all, version } = this.#options.nodes;
    const known = this.#walks.get(termination);
    const walk = known?.version === version ? known : { version, next: 0 };
    this.#walks.set(termination, walk);
    for (let passes = 0; passes < 2; passes++) {
      for (let at = walk.next; at < all.length; at++) {
        const node = all[at];
        if (node === undefined || this.#groupStates.stateOfNode(node, query) !== "behind") continue;
        walk.next = at;
        return false;
      }
      // Once more from the first node: one that did not count may be back.
      if (walk.next === 0) break;
      walk.next = 0;
    }
    return true;
  }
}

const declaredIn = (external: string | undefined): readonly string[] => namesIn(external).map(declaredAs);

const waiting: Decision = { state: "waiting" };
const incomplete = (because: Decision["because"]): Decision => ({ state: "incomplete", because });

function share(quorum: string): number {
  return quorum === "all" ? 1 : Number.parseInt(quorum, 10) / 100;
}

import type { AcknowledgementSettings } from "@lameduck/inject";
import type { Listings, PodRoutes, Routing } from "@lameduck/cluster";
import type { Nodes, SendingNode } from "./nodes.ts";
import type { ReleaseState } from "@lameduck/protocol";
import type { Termination } from "./termination.ts";
import type { ConsumerGroup, GroupState, GroupStates, WithdrawalQuery } from "./consumer-groups.ts";
import type { PolicySettings } from "../settings.ts";

/** How many groups of consumers matter to one pod, and how far they are. */
export interface Count {
  /** Groups that count; absent and silent ones do not. */
  readonly relevant: number;
  readonly applied: number;
  readonly missing: number;
  readonly silent: number;
}

/** So long a DNS server may take to hear of a withdrawal. Until then it hands the address out, for the record's whole time. */
const dnsServersLagMs = 1_000;
/** Versions count up from 0. */
const outdatedVersion = -1;

interface Cached {
  readonly version: number;
  readonly services: readonly string[];
  /** A Service lists it as ready until it is gone (`publishNotReadyAddresses`). */
  readonly publishesNotReady: boolean;
  readonly routes: PodRoutes;
  readonly groups: readonly ConsumerGroup[];
}

/** How far the search for nodes that are behind has come. */
interface NodeWalk {
  /** Version of the nodes' order. */
  readonly version: number;
  /** Index of the first node that may not have let go. */
  next: number;
}

export interface ReleasesOptions {
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

  constructor(options: ReleasesOptions) {
    this.#options = options;
    this.#groupStates = options.groupStates;
  }

  /** Begins a round of decisions, which share what holds for all of them. */
  begin(now: number): void {
    this.#missing.clear();
    this.#options.routing.forget(now);
  }

  /** @returns the state that the pod is answered. A pod without a consumer that counts is never released. */
  decide(termination: Termination, now: number): ReleaseState {
    const query = this.queryOf(termination, now);
    const { settings } = query;
    if (termination.isHostNetwork || this.#cached(termination).publishesNotReady) return "incomplete";
    // Clients of a host port are unknown here, unless a consumer is declared.
    if (termination.hasHostPort && settings.external === undefined) return "incomplete";
    // Nobody is asked about a pod that has ended before.
    if (termination.sequence === undefined) return termination.isFinished ? "incomplete" : "waiting";
    // Cheap checks come first: most rounds end here, or at the node that was behind in the last round.
    const states = this.groups(termination).map((group) => this.#groupStates.stateOfGroup(group, query));
    if (states.includes("missing")) return "incomplete";
    const needsEachNode = this.routesTo(termination).throughNodes && settings.quorum === "all";
    if (needsEachNode && this.#isMissing(termination, query)) return "incomplete";
    // A quorum is one of nodes: an ingress has as much traffic as hundreds of them.
    if (states.includes("behind")) return "waiting";
    if (needsEachNode && !this.#haveNodesApplied(termination, query)) return "waiting";
    const { relevant, applied, missing, silent } = this.count(termination, now);
    if (missing > 0 || relevant === 0 || silent > relevant) return "incomplete";
    return applied >= relevant * share(settings.quorum) ? "released" : "waiting";
  }

  /** The groups besides the nodes, and the time for which clients cache DNS answers. */
  groups(termination: Termination): readonly ConsumerGroup[] {
    const { external, dnsTtlSeconds } = this.#settingsOf(termination);
    const { groups, routes } = this.#cached(termination);
    if (external === undefined && !routes.byName) return groups;
    const declared = (external ?? "").split(/, ?/).filter((key) => key !== "");
    const passesMs = dnsTtlSeconds * 1_000 + dnsServersLagMs;
    return [
      ...groups,
      ...declared.map((key) => this.#groupStates.groupOfNeed(`consumer/${key}`)),
      ...(routes.byName ? [{ name: "dns/cluster", consumers: [], node: undefined, passesMs }] : []),
    ];
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
    return throughNodes || !byName || this.hasUnlisted(termination);
  }

  /** Whether no list of the cluster names some of its consumers: they are known by their own reports alone. */
  hasUnlisted(termination: Termination): boolean {
    return (
      this.#settingsOf(termination).external !== undefined ||
      this.routesTo(termination).requiredReporters.length > 0
    );
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

  #cached(termination: Termination): Cached {
    const { listings, routing } = this.#options;
    const known = this.#routes.get(termination);
    const { version } = routing;
    if (known?.version === version) return known;
    const services = listings.servicesOf(termination);
    // No slice lists a pod that is gone. Its record still names the consumers that mattered to it.
    if (known && services.length === 0) return known;
    const routes = routing.of(services);
    const groups = routes.requiredReporters.map((need) => this.#groupStates.groupOfNeed(need));
    const cached = {
      version,
      services,
      publishesNotReady: listings.publishesNotReady(termination),
      routes,
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

function share(quorum: string): number {
  return quorum === "all" ? 1 : Number.parseInt(quorum, 10) / 100;
}

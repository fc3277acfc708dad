import type { AcknowledgementSettings } from "@lameduck/inject";
import type { Listings, PodRoutes, Routing } from "@lameduck/cluster";
import type { Nodes, SendingNode } from "./nodes.ts";
import type { ReleaseState, TerminationRecord } from "./record.ts";
import type { GroupStates, WithdrawalQuery, ConsumerGroup, GroupState } from "./consumer-groups.ts";

/** How many groups of consumers matter to one pod, and how far they are. */
export interface Count {
  /** Groups that count; absent and silent ones do not. */
  readonly relevant: number;
  readonly applied: number;
  readonly missing: number;
  readonly silent: number;
}

/** Milliseconds in which a DNS server hears of a withdrawal. Until then it hands the address out, for the record's whole time. */
const dnsServersLag = 1_000;
/** Versions count up from 0. */
const outdatedVersion = -1;

interface Cached {
  readonly version: number;
  readonly services: readonly string[];
  /** It is listed as ready until it is gone. */
  readonly isPinned: boolean;
  readonly routes: PodRoutes;
  readonly groups: readonly ConsumerGroup[];
}

/** Decides which consumers matter to a pod, and whether all of them have let go. */
export class Releases {
  readonly #listings: Listings;
  readonly #routing: Routing;
  readonly #nodes: Nodes;
  readonly #groupStates: GroupStates;
  readonly #routes = new WeakMap<TerminationRecord, Cached>();
  readonly #missing = new Map<number, boolean>();
  /** The state of nodes and consumers for which none was missing, by `notReadyAfterSeconds`. */
  readonly #complete = new Map<number, string>();

  constructor({
    listings,
    routing,
    nodes,
    groupStates,
  }: {
    readonly listings: Listings;
    readonly routing: Routing;
    readonly nodes: Nodes;
    readonly groupStates: GroupStates;
  }) {
    this.#listings = listings;
    this.#routing = routing;
    this.#nodes = nodes;
    this.#groupStates = groupStates;
  }

  /** Begins a round of decisions, which share what holds for all of them. */
  begin(now: number): void {
    this.#missing.clear();
    this.#routing.forget(now);
  }

  /** @returns the state that the pod is answered. A pod without a consumer that counts is never released. */
  decide(record: TerminationRecord, settings: AcknowledgementSettings, now: number): ReleaseState {
    if (record.isHostNetwork || this.#cached(record).isPinned) return "incomplete";
    // Clients of a host port are unknown here, unless a consumer is declared.
    if (record.hasHostPort && settings.external === undefined) return "incomplete";
    const { number, withdrawnAt } = record;
    // Nobody is asked about a pod that has ended before.
    if (number === undefined || withdrawnAt === undefined)
      return record.isFinished ? "incomplete" : "waiting";
    const query = { number, withdrawnAt, settings, now };
    const routes = this.routesTo(record);
    // Cheap checks come first: most rounds end here, or at the node that was behind in the last round.
    const states = this.groups(record, settings).map((group) => this.#groupStates.stateOfGroup(group, query));
    if (states.includes("missing")) return "incomplete";
    const needsEachNode = routes.throughNodes && settings.quorum === "all";
    if (needsEachNode && this.#isMissing(record, query)) return "incomplete";
    // A quorum is one of nodes: an ingress has as much traffic as hundreds of them.
    if (states.includes("behind")) return "waiting";
    if (needsEachNode && !this.#haveNodesApplied(record, query)) return "waiting";
    const { relevant, applied, missing, silent } = this.count(record, settings, now);
    if (missing > 0 || relevant === 0 || silent > relevant) return "incomplete";
    return applied >= relevant * share(settings.quorum) ? "released" : "waiting";
  }

  /** The groups besides the nodes, and the time for which clients cache DNS answers. */
  groups(
    record: TerminationRecord,
    { external, dnsTtlSeconds }: AcknowledgementSettings,
  ): readonly ConsumerGroup[] {
    const { groups } = this.#cached(record);
    const { byName } = this.routesTo(record);
    if (external === undefined && !byName) return groups;
    const declared = (external ?? "").split(/, ?/).filter((key) => key !== "");
    return [
      ...groups,
      ...declared.map((key) => this.#groupStates.groupOfNeed(`consumer/${key}`)),
      ...(byName
        ? [
            {
              name: "dns/cluster",
              consumers: [],
              node: undefined,
              passes: dnsTtlSeconds * 1_000 + dnsServersLag,
            },
          ]
        : []),
    ];
  }

  /** Looks the pod's routes up anew: other slices list it now. */
  forgetRoutes(record: TerminationRecord): void {
    const known = this.#routes.get(record);
    if (known) this.#routes.set(record, { ...known, version: outdatedVersion });
  }

  routesTo(record: TerminationRecord): PodRoutes {
    return this.#cached(record).routes;
  }

  /** When proxies may have begun to choose it, or to choose it again, milliseconds; -Infinity where that is long ago. */
  chosenSince(record: TerminationRecord): number {
    const { node, withdrawnAt = Infinity } = record;
    return this.#routing.chosenSince(this.#cached(record).services, node, withdrawnAt);
  }

  /** Whether a Service lists it, or has listed it. */
  hasServices(record: TerminationRecord): boolean {
    return this.#cached(record).services.length > 0;
  }

  /** Whether proxies lead to it: clients that know its address by DNS have no rules. */
  hasProxies(record: TerminationRecord, settings: AcknowledgementSettings): boolean {
    const { throughNodes, byName } = this.routesTo(record);
    return throughNodes || !byName || this.hasUnlisted(record, settings);
  }

  /** Whether some of the consumers are known only by their own reports. */
  hasUnlisted(record: TerminationRecord, { external }: AcknowledgementSettings): boolean {
    return external !== undefined || this.routesTo(record).needs.length > 0;
  }

  /** The nodes that matter. */
  nodesOf(record: TerminationRecord, { consumers }: AcknowledgementSettings): readonly SendingNode[] {
    if (!this.routesTo(record).throughNodes) return [];
    const { seenNodes } = record;
    if (consumers === "all" || seenNodes === undefined) return this.#nodes.all;
    return this.#nodes.all.filter(({ name }) => seenNodes.has(name));
  }

  count(record: TerminationRecord, settings: AcknowledgementSettings, now: number): Count {
    const { number = Infinity, withdrawnAt = Infinity } = record;
    const query = { number, withdrawnAt, settings, now };
    const counts: Record<GroupState, number> = { applied: 0, behind: 0, missing: 0, silent: 0, absent: 0 };
    for (const group of this.groups(record, settings)) counts[this.#groupStates.stateOfGroup(group, query)]++;
    for (const node of this.nodesOf(record, settings)) counts[this.#groupStates.stateOfNode(node, query)]++;
    const { applied, behind, missing, silent } = counts;
    return { relevant: applied + behind + missing, applied, missing, silent };
  }

  #cached(record: TerminationRecord): Cached {
    const known = this.#routes.get(record);
    const { version } = this.#routing;
    if (known?.version === version) return known;
    const services = this.#listings.servicesOf(record);
    // No slice lists a pod that is gone. Its record still names the consumers that mattered to it.
    if (known && services.length === 0) return known;
    const routes = this.#routing.of(services);
    const groups = routes.needs.map((need) => this.#groupStates.groupOfNeed(need));
    const cached = { version, services, isPinned: this.#listings.isPinned(record), routes, groups };
    this.#routes.set(record, cached);
    return cached;
  }

  /** Whether some node has no consumer that reports for it. */
  #isMissing(record: TerminationRecord, query: WithdrawalQuery): boolean {
    const { settings } = query;
    if (settings.consumers === "seen")
      return this.nodesOf(record, settings).some(
        (node) => this.#groupStates.stateOfNode(node, query) === "missing",
      );
    const key = settings.notReadyAfterSeconds;
    let known = this.#missing.get(key);
    if (known === undefined) {
      // No consumer becomes missing unless nodes or consumers change. This saves a walk along thousands of nodes in each round.
      const there = `${this.#nodes.readiness}/${this.#groupStates.membership}`;
      known =
        this.#complete.get(key) !== there &&
        this.#nodes.all.some((node) => this.#groupStates.stateOfNode(node, query) === "missing");
      if (known) this.#complete.delete(key);
      else this.#complete.set(key, there);
      this.#missing.set(key, known);
    }
    return known;
  }

  /** Starts at the node where the last round stopped: nodes before it have applied the withdrawal, and stay so. */
  #haveNodesApplied(record: TerminationRecord, query: WithdrawalQuery): boolean {
    if (query.settings.consumers === "seen")
      return this.nodesOf(record, query.settings).every(
        (node) => this.#groupStates.stateOfNode(node, query) !== "behind",
      );
    const { all, version } = this.#nodes;
    if (record.cursorVersion !== version) {
      record.cursor = 0;
      record.cursorVersion = version;
    }
    for (let passes = 0; passes < 2; passes++) {
      for (let at = record.cursor; at < all.length; at++) {
        const node = all[at];
        if (node === undefined || this.#groupStates.stateOfNode(node, query) !== "behind") continue;
        record.cursor = at;
        return false;
      }
      // Once more from the first node: one that did not count may be back.
      if (record.cursor === 0) break;
      record.cursor = 0;
    }
    return true;
  }
}

function share(quorum: string): number {
  return quorum === "all" ? 1 : Number.parseInt(quorum, 10) / 100;
}

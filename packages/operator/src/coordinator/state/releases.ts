import type { AcknowledgementSettings } from "../../policy/acknowledgements.ts";
import type { Listings } from "./listings.ts";
import type { Nodes, NodeSeat } from "./nodes.ts";
import type { ReleaseState, TerminationRecord } from "./record.ts";
import type { Leading, Routing } from "./routing.ts";
import type { Judge, Question, Seat, Verdict } from "./seats.ts";

/** Everybody who matters to one pod, and how far they are. */
export interface Count {
  /** Who counts: those who are absent or left out do not. */
  readonly relevant: number;
  readonly applied: number;
  readonly missing: number;
  readonly silent: number;
}

/** Versions count up from 0. */
const outdated = -1;

interface Cached {
  readonly version: number;
  readonly leading: Leading;
  readonly seats: readonly Seat[];
}

/** Decides who matters to a pod, and whether all of them have let go. */
export class Releases {
  readonly #listings: Listings;
  readonly #routing: Routing;
  readonly #nodes: Nodes;
  readonly #judge: Judge;
  readonly #leading = new WeakMap<TerminationRecord, Cached>();
  readonly #missing = new Map<number, boolean>();
  /** For which nodes and consumers nobody was missing, by the time after which nodes do not count. */
  readonly #complete = new Map<number, string>();

  constructor({
    listings,
    routing,
    nodes,
    judge,
  }: {
    readonly listings: Listings;
    readonly routing: Routing;
    readonly nodes: Nodes;
    readonly judge: Judge;
  }) {
    this.#listings = listings;
    this.#routing = routing;
    this.#nodes = nodes;
    this.#judge = judge;
  }

  /** A round of decisions begins: what holds for all of them is looked at once. */
  begin(): void {
    this.#missing.clear();
  }

  /** @returns what the pod is to be told. Released it is only by somebody: nobody's silence counts as consent. */
  decide(record: TerminationRecord, settings: AcknowledgementSettings, now: number): ReleaseState {
    if (record.isHostNetwork || this.#listings.isPinned(record.uid)) return "incomplete";
    // Whoever sends to a port of its node is known to nobody here, unless somebody is declared.
    if (record.hasHostPort && settings.external === undefined) return "incomplete";
    const { number, withdrawnAt } = record;
    if (number === undefined || withdrawnAt === undefined) return "waiting";
    const question = { number, withdrawnAt, settings, now };
    const leading = this.leading(record);
    // What is cheap comes first: most rounds end here, or at the node that was behind the last time.
    if (settings.quorum === "all") {
      const verdicts = this.seats(record, settings).map((seat) => this.#judge.seat(seat, question));
      if (verdicts.includes("missing")) return "incomplete";
      if (leading.throughNodes && this.#isMissing(record, question)) return "incomplete";
      if (verdicts.includes("behind")) return "waiting";
      if (leading.throughNodes && !this.#areNodesThrough(record, question)) return "waiting";
    }
    const { relevant, applied, missing, silent } = this.count(record, settings, now);
    if (missing > 0 || relevant === 0 || silent > relevant) return "incomplete";
    return applied >= relevant * share(settings.quorum) ? "released" : "waiting";
  }

  /** Who matters besides the nodes, and the time that names are remembered. */
  seats(record: TerminationRecord, { external, dnsTtlSeconds }: AcknowledgementSettings): readonly Seat[] {
    const { seats } = this.#cached(record);
    const { byName } = this.leading(record);
    if (external === undefined && !byName) return seats;
    const declared = (external ?? "").split(/, ?/).filter((key) => key !== "");
    return [
      ...seats,
      ...declared.map((key) => this.#judge.needSeat(`consumer/${key}`)),
      ...(byName
        ? [{ name: "dns/cluster", consumers: [], node: undefined, passes: dnsTtlSeconds * 1_000 }]
        : []),
    ];
  }

  /** Something else lists it now. */
  refresh(record: TerminationRecord): void {
    const known = this.#leading.get(record);
    if (known) this.#leading.set(record, { ...known, version: outdated });
  }

  leading(record: TerminationRecord): Leading {
    return this.#cached(record).leading;
  }

  /** Whether some of who matters are known only by their reports. */
  hasUnlisted(record: TerminationRecord): boolean {
    return this.leading(record).needs.length > 0;
  }

  /** The nodes that matter. */
  nodesOf(record: TerminationRecord, { consumers }: AcknowledgementSettings): readonly NodeSeat[] {
    if (!this.leading(record).throughNodes) return [];
    const { seenNodes } = record;
    if (consumers === "all" || seenNodes === undefined) return this.#nodes.seats;
    return this.#nodes.seats.filter(({ name }) => seenNodes.has(name));
  }

  count(record: TerminationRecord, settings: AcknowledgementSettings, now: number): Count {
    const { number = Infinity, withdrawnAt = Infinity } = record;
    const question = { number, withdrawnAt, settings, now };
    const counts: Record<Verdict, number> = { applied: 0, behind: 0, missing: 0, silent: 0, absent: 0 };
    for (const seat of this.seats(record, settings)) counts[this.#judge.seat(seat, question)]++;
    for (const node of this.nodesOf(record, settings)) counts[this.#judge.node(node, question)]++;
    const { applied, behind, missing, silent } = counts;
    return { relevant: applied + behind + missing, applied, missing, silent };
  }

  #cached(record: TerminationRecord): Cached {
    const known = this.#leading.get(record);
    const { version } = this.#routing;
    if (known?.version === version) return known;
    const services = [...this.#listings.servicesOf(record.uid)];
    // A pod that is gone is listed nowhere. Who mattered to it still does: it is asked for its record.
    if (known && services.length === 0) return known;
    const leading = this.#routing.of(services);
    const seats = leading.needs.map((need) => this.#judge.needSeat(need));
    const cached = { version, leading, seats };
    this.#leading.set(record, cached);
    return cached;
  }

  /** Some node has nobody who reports for it. */
  #isMissing(record: TerminationRecord, question: Question): boolean {
    const { settings } = question;
    if (settings.consumers === "seen")
      return this.nodesOf(record, settings).some((node) => this.#judge.node(node, question) === "missing");
    const key = settings.notReadyAfterSeconds;
    let known = this.#missing.get(key);
    if (known === undefined) {
      // With time nobody becomes missing, unless nodes or consumers change: a walk along thousands each time is spared.
      const there = `${this.#nodes.readiness}/${this.#judge.membership}`;
      known =
        this.#complete.get(key) !== there &&
        this.#nodes.seats.some((node) => this.#judge.node(node, question) === "missing");
      if (known) this.#complete.delete(key);
      else this.#complete.set(key, there);
      this.#missing.set(key, known);
    }
    return known;
  }

  /** Goes on where it stood: what has been applied stays so, and nodes are not many who let go at once. */
  #areNodesThrough(record: TerminationRecord, question: Question): boolean {
    if (question.settings.consumers === "seen")
      return this.nodesOf(record, question.settings).every(
        (node) => this.#judge.node(node, question) !== "behind",
      );
    const { seats, version } = this.#nodes;
    if (record.cursorVersion !== version) {
      record.cursor = 0;
      record.cursorVersion = version;
    }
    for (let passes = 0; passes < 2; passes++) {
      for (let at = record.cursor; at < seats.length; at++) {
        const seat = seats[at];
        if (seat === undefined || this.#judge.node(seat, question) !== "behind") continue;
        record.cursor = at;
        return false;
      }
      // Once more from the first: somebody who was left out may be back.
      if (record.cursor === 0) break;
      record.cursor = 0;
    }
    return true;
  }
}

function share(quorum: string): number {
  return quorum === "all" ? 1 : Number.parseInt(quorum, 10) / 100;
}

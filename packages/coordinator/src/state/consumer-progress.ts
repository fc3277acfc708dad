import { mostNamed, type NamedConsumers } from "../termination-view.ts";
import type { Basis } from "@lameduck/protocol";
import type { Termination } from "./termination.ts";
import type { Consumer } from "./consumer.ts";
import type { Releases } from "./releases.ts";
import {
  silentAfterMs,
  type GroupStates,
  type WithdrawalQuery,
  type ConsumerGroup,
} from "./consumer-groups.ts";
import { SlowestConsumers } from "./slowest.ts";

/** Causes beside which no consumer matters. */
const whole = ["young", "finished", "host-network", "host-port", "published", "unlisted"] as const;
type Whole = (typeof whole)[number];

export interface BehindConsumer {
  /** "kube-proxy/node5" */
  readonly name: string;
  /** Its basis, or why there is no report of it. */
  readonly how: Basis | "missing" | "silent" | "unread" | Whole;
  /** Why it has not let go, where it says so. Where nothing reports for it: who it is, and what shows it. */
  readonly reason?: string;
}

/** Which consumers are behind, and when the others let go: for the pod's closing line and for records. */
export class ConsumerProgress {
  readonly #releases: Releases;
  readonly #groupStates: GroupStates;
  readonly #unread: () => readonly string[];

  /** @param unread the lists that may name a consumer, and are not read. */
  constructor(releases: Releases, groupStates: GroupStates, unread: () => readonly string[]) {
    this.#releases = releases;
    this.#groupStates = groupStates;
    this.#unread = unread;
  }

  /** The consumers that have not let go. */
  behind(termination: Termination, now: number): readonly BehindConsumer[] {
    const { because } = termination;
    const of = whole.find((one) => one === because);
    if (of !== undefined) return [{ name: "all", how: of }];
    if (because === "unread") return this.#unread().map((name) => ({ name, how: "unread" as const }));
    const query = this.#releases.queryOf(termination, now);
    const named: BehindConsumer[] = [];
    for (const group of this.#groups(termination)) {
      const state = this.#groupStates.stateOfGroup(group, query);
      if (state === "missing")
        named.push({ name: group.name, how: "missing", ...this.#reasonFor(termination, group.name) });
      if (state === "silent" && because === "silent")
        for (const consumer of group.consumers) named.push({ name: consumer.key, how: "silent" });
      if (state !== "behind") continue;
      if (group.passesMs !== undefined) named.push({ name: group.name, how: "time" });
      for (const consumer of group.consumers)
        if (!consumer.hasApplied(query.sequence)) named.push(this.#behindOf(consumer, now));
    }
    return named;
  }

  /** The consumers that have not let go, but for those that go by time: what they say proves nothing. */
  notLetGo(termination: Termination): readonly Consumer[] {
    const { sequence = Infinity } = termination;
    const all = new Set(this.#groups(termination).flatMap(({ consumers }) => consumers));
    return [...all].filter((one) => one.basis !== "time" && !one.hasApplied(sequence));
  }

  #reasonFor(termination: Termination, name: string): { readonly reason?: string } {
    const reason = this.#releases.whoIs(termination, name);
    return reason === undefined ? {} : { reason };
  }

  #behindOf(consumer: Consumer, now: number): BehindConsumer {
    const { key: name, basis } = consumer;
    const reason = reasonOf(consumer);
    if (this.#groupStates.silence(consumer, now) > silentAfterMs) return { name, how: "silent" };
    return { name, how: basis, ...(reason === undefined ? {} : { reason }) };
  }

  /** What the release rests on: `rules` where every consumer has read the rules, or its proxy's own state. */
  basis(termination: Termination): "rules" | "syncs" | "mixed" {
    let [proofs, others] = [0, 0];
    for (const group of this.#groups(termination)) {
      if (group.passesMs !== undefined) others++;
      for (const { basis } of group.consumers)
        if (basis === "rules" || basis === "state") proofs++;
        else others++;
    }
    return others === 0 ? "rules" : proofs === 0 ? "syncs" : "mixed";
  }

  /** The consumer that let go last. */
  last(termination: Termination): string | undefined {
    const { sequence = Infinity, withdrawnAt = Infinity } = termination;
    let last: { readonly name: string; readonly at: number } | undefined;
    const take = (name: string, at = -Infinity): void => {
      if (last === undefined || at > last.at) last = { name, at };
    };
    for (const group of this.#groups(termination)) {
      if (group.passesMs !== undefined) take(group.name, withdrawnAt + group.passesMs);
      for (const consumer of group.consumers) take(consumer.key, consumer.appliedAt(sequence));
    }
    return last?.name;
  }

  /** The slowest consumers first. */
  consumers(termination: Termination, now: number): NamedConsumers {
    const query = this.#releases.queryOf(termination, now);
    const slowest = new SlowestConsumers(mostNamed);
    for (const group of this.#releases.groups(termination)) {
      if (slowest.isFinal) break;
      if (group.passesMs !== undefined) {
        const at = query.withdrawnAt + group.passesMs;
        const appliedAt = now >= at ? at : undefined;
        slowest.offer(appliedAt, () => [
          group.name,
          { kind: "dns", basis: "time", appliedAt, isMissing: false, isSilent: false },
        ]);
      } else this.#offer(group.consumers, () => group.name, query, slowest, termination);
    }
    for (const node of this.#releases.nodesOf(termination)) {
      if (slowest.isFinal) break;
      if (this.#groupStates.isAbsent(node, query)) continue;
      this.#offer(
        this.#groupStates.proxiesOf(node),
        () => this.#groupStates.groupOfNode(node).name,
        query,
        slowest,
      );
    }
    return slowest.named;
  }

  /** Makes entries only for consumers that will be named: there are thousands, and this runs some fifty times a second. */
  #offer(
    consumers: readonly Consumer[],
    nameOf: () => string,
    { sequence, now }: WithdrawalQuery,
    slowest: SlowestConsumers,
    sentTo?: Termination,
  ): void {
    if (consumers.length === 0)
      slowest.offer(undefined, () => {
        const name = nameOf();
        const [kind = ""] = name.split("/");
        const reason = sentTo && this.#releases.whoIs(sentTo, name);
        return [
          name,
          { kind, basis: undefined, appliedAt: undefined, reason, isMissing: true, isSilent: false },
        ];
      });
    for (const consumer of consumers) {
      const appliedAt = consumer.appliedAt(sequence);
      slowest.offer(appliedAt, () => {
        const isSilent = appliedAt === undefined && this.#groupStates.silence(consumer, now) > silentAfterMs;
        const { key, kind, basis } = consumer;
        return [key, { kind, basis, appliedAt, reason: reasonOf(consumer), isMissing: false, isSilent }];
      });
    }
  }

  #groups(termination: Termination): readonly ConsumerGroup[] {
    const nodes = this.#releases.nodesOf(termination);
    return [
      ...this.#releases.groups(termination),
      ...nodes.filter(({ isGone }) => !isGone).map((node) => this.#groupStates.groupOfNode(node)),
    ];
  }
}

/** Why it has not let go. Any pod is told: what a watcher says of its problem may have names in it, and only `lameduck status` shows it. */
function reasonOf({ problem, reason }: Consumer): string | undefined {
  return problem === undefined ? reason : "cannot be read";
}

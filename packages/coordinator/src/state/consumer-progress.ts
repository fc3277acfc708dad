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

/** Why no consumer is asked: proxies may not have added the pod yet, its address is its node's, too, or nothing listens there any more. */
type NotAsked = "young" | "host-network" | "finished";

export interface BehindConsumer {
  /** "kube-proxy/node5" */
  readonly name: string;
  /** Its basis, or why there is no report of it. */
  readonly how: Basis | "missing" | "silent" | NotAsked;
  /** Why it has not let go, where it says so. */
  readonly reason?: string;
}

/** Which consumers are behind, and when the others let go: for the pod's closing line and for records. */
export class ConsumerProgress {
  readonly #releases: Releases;
  readonly #groupStates: GroupStates;

  constructor(releases: Releases, groupStates: GroupStates) {
    this.#releases = releases;
    this.#groupStates = groupStates;
  }

  /** The consumers that have not let go. */
  behind(termination: Termination, now: number): readonly BehindConsumer[] {
    const notAsked = whyNotAsked(termination, now);
    if (notAsked !== undefined) return [{ name: "all", how: notAsked }];
    const query = this.#releases.queryOf(termination, now);
    const named: BehindConsumer[] = [];
    for (const group of this.#groups(termination)) {
      const state = this.#groupStates.stateOfGroup(group, query);
      if (state === "missing") named.push({ name: group.name, how: "missing" });
      if (state !== "behind") continue;
      if (group.passesMs !== undefined) named.push({ name: group.name, how: "time" });
      for (const consumer of group.consumers)
        if (!consumer.hasApplied(query.sequence)) named.push(this.#behindOf(consumer, now));
    }
    return named;
  }

  #behindOf(consumer: Consumer, now: number): BehindConsumer {
    const { key: name, basis, reason } = consumer;
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
      } else this.#offer(group.consumers, () => group.name, query, slowest);
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
  ): void {
    if (consumers.length === 0)
      slowest.offer(undefined, () => {
        const name = nameOf();
        const [kind = ""] = name.split("/");
        return [name, { kind, basis: undefined, appliedAt: undefined, isMissing: true, isSilent: false }];
      });
    for (const consumer of consumers) {
      const appliedAt = consumer.appliedAt(sequence);
      slowest.offer(appliedAt, () => {
        const isSilent = appliedAt === undefined && this.#groupStates.silence(consumer, now) > silentAfterMs;
        const { key, kind, basis, reason } = consumer;
        return [key, { kind, basis, appliedAt, reason, isMissing: false, isSilent }];
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

function whyNotAsked(termination: Termination, now: number): NotAsked | undefined {
  if (termination.isHostNetwork) return "host-network";
  if (termination.sequence !== undefined || termination.withdrawnAt === undefined) return undefined;
  if (termination.isFinished) return "finished";
  return now < termination.proxiesSettledAt ? "young" : undefined;
}

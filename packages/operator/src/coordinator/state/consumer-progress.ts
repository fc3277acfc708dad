import type { AcknowledgementSettings } from "../../policy/acknowledgements.ts";
import { mostNamed, type Basis, type TerminationConsumer } from "../termination.ts";
import type { TerminationRecord } from "./record.ts";
import type { Consumer } from "./consumer.ts";
import type { Releases } from "./releases.ts";
import { silentAfter, type Judge, type Question, type ConsumerGroup } from "./consumer-groups.ts";
import { Slowest } from "./slowest.ts";

export interface Named {
  /** "kube-proxy/node5" */
  readonly name: string;
  /** Its basis, or why there is no report of it. */
  readonly how: Basis | "missing" | "silent";
}

/** Which consumers are behind, and when the others let go: for the pod's closing line and for records. */
export class ConsumerProgress {
  readonly #releases: Releases;
  readonly #judge: Judge;

  constructor(releases: Releases, judge: Judge) {
    this.#releases = releases;
    this.#judge = judge;
  }

  /** The consumers that have not let go. */
  behind(record: TerminationRecord, settings: AcknowledgementSettings, now: number): readonly Named[] {
    const question = questionOf(record, settings, now);
    const named: Named[] = [];
    for (const group of this.#groups(record, settings)) {
      const verdict = this.#judge.group(group, question);
      if (verdict === "missing") named.push({ name: group.name, how: "missing" });
      if (verdict !== "behind") continue;
      if (group.passes !== undefined) named.push({ name: group.name, how: "time" });
      for (const consumer of group.consumers)
        if (!consumer.hasApplied(question.number))
          named.push({
            name: consumer.key,
            how: this.#judge.silence(consumer, now) > silentAfter ? "silent" : consumer.basis,
          });
    }
    return named;
  }

  /** What the release rests on: `rules` where every consumer has read the rules, or its proxy's own state. */
  basis(record: TerminationRecord, settings: AcknowledgementSettings): "rules" | "syncs" | "mixed" {
    let [proofs, others] = [0, 0];
    for (const group of this.#groups(record, settings)) {
      if (group.passes !== undefined) others++;
      for (const { basis } of group.consumers)
        if (basis === "rules" || basis === "state") proofs++;
        else others++;
    }
    return others === 0 ? "rules" : proofs === 0 ? "syncs" : "mixed";
  }

  /** The consumer that let go last. */
  last(record: TerminationRecord, settings: AcknowledgementSettings): string | undefined {
    const { number = Infinity, withdrawnAt = Infinity } = record;
    let last: { readonly name: string; readonly at: number } | undefined;
    const take = (name: string, at = -Infinity): void => {
      if (last === undefined || at > last.at) last = { name, at };
    };
    for (const group of this.#groups(record, settings)) {
      if (group.passes !== undefined) take(group.name, withdrawnAt + group.passes);
      for (const consumer of group.consumers) take(consumer.key, consumer.appliedAt(number));
    }
    return last?.name;
  }

  /** The slowest consumers first. */
  consumers(
    record: TerminationRecord,
    settings: AcknowledgementSettings,
    now: number,
  ): ReadonlyMap<string, TerminationConsumer> {
    const question = questionOf(record, settings, now);
    const slowest = new Slowest(mostNamed);
    for (const group of this.#releases.groups(record, settings)) {
      if (slowest.isSettled) break;
      if (group.passes !== undefined) {
        const at = question.withdrawnAt + group.passes;
        const appliedAt = now >= at ? at : undefined;
        slowest.offer(appliedAt, () => [
          group.name,
          { kind: "dns", basis: "time", appliedAt, isMissing: false, isSilent: false },
        ]);
      } else this.#offer(group.consumers, () => group.name, question, slowest);
    }
    for (const node of this.#releases.nodesOf(record, settings)) {
      if (slowest.isSettled) break;
      if (this.#judge.isAbsent(node, question)) continue;
      this.#offer(this.#judge.ofNode(node), () => this.#judge.groupOfNode(node).name, question, slowest);
    }
    return slowest.named;
  }

  /** Makes entries only for consumers that will be named: there are thousands, and this runs some fifty times a second. */
  #offer(
    consumers: readonly Consumer[],
    nameOf: () => string,
    { number, now }: Question,
    slowest: Slowest,
  ): void {
    if (consumers.length === 0)
      slowest.offer(undefined, () => {
        const name = nameOf();
        const [kind = ""] = name.split("/");
        return [name, { kind, basis: undefined, appliedAt: undefined, isMissing: true, isSilent: false }];
      });
    for (const consumer of consumers) {
      const appliedAt = consumer.appliedAt(number);
      slowest.offer(appliedAt, () => {
        const isSilent = appliedAt === undefined && this.#judge.silence(consumer, now) > silentAfter;
        const { key, kind, basis } = consumer;
        return [key, { kind, basis, appliedAt, isMissing: false, isSilent }];
      });
    }
  }

  #groups(record: TerminationRecord, settings: AcknowledgementSettings): readonly ConsumerGroup[] {
    const nodes = this.#releases.nodesOf(record, settings);
    return [
      ...this.#releases.groups(record, settings),
      ...nodes.filter(({ isGone }) => !isGone).map((node) => this.#judge.groupOfNode(node)),
    ];
  }
}

function questionOf(record: TerminationRecord, settings: AcknowledgementSettings, now: number): Question {
  const { number = Infinity, withdrawnAt = Infinity } = record;
  return { number, withdrawnAt, settings, now };
}

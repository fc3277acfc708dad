import type { AcknowledgementSettings } from "../../policy/acknowledgements.ts";
import { mostNamed, type Basis, type TerminationConsumer } from "../termination.ts";
import type { TerminationRecord } from "./record.ts";
import type { Consumer } from "./consumer.ts";
import type { Releases } from "./releases.ts";
import { silentAfter, type Judge, type Question, type Seat } from "./seats.ts";
import { Slowest } from "./slowest.ts";

export interface Named {
  /** "kube-proxy/node5" */
  readonly name: string;
  /** Its basis, or why nothing is heard of it. */
  readonly how: Basis | "missing" | "silent";
}

/** Who is behind, and by when the others let go: for the pod's closing line and for records. */
export class Naming {
  readonly #releases: Releases;
  readonly #judge: Judge;

  constructor(releases: Releases, judge: Judge) {
    this.#releases = releases;
    this.#judge = judge;
  }

  /** Everybody who is waited for. */
  behind(record: TerminationRecord, settings: AcknowledgementSettings, now: number): readonly Named[] {
    const question = questionOf(record, settings, now);
    const named: Named[] = [];
    for (const seat of this.#seats(record, settings)) {
      const verdict = this.#judge.seat(seat, question);
      if (verdict === "missing") named.push({ name: seat.name, how: "missing" });
      if (verdict !== "behind") continue;
      if (seat.passes !== undefined) named.push({ name: seat.name, how: "time" });
      for (const consumer of seat.consumers)
        if (!consumer.hasApplied(question.number))
          named.push({
            name: consumer.key,
            how: this.#judge.silence(consumer, now) > silentAfter ? "silent" : consumer.basis,
          });
    }
    return named;
  }

  /** What the release rests on: `rules` where all have read them or the proxy's own state. */
  basis(record: TerminationRecord, settings: AcknowledgementSettings): "rules" | "syncs" | "mixed" {
    let [proofs, others] = [0, 0];
    for (const seat of this.#seats(record, settings)) {
      if (seat.passes !== undefined) others++;
      for (const { basis } of seat.consumers)
        if (basis === "rules" || basis === "state") proofs++;
        else others++;
    }
    return others === 0 ? "rules" : proofs === 0 ? "syncs" : "mixed";
  }

  /** Who let go last. */
  last(record: TerminationRecord, settings: AcknowledgementSettings): string | undefined {
    const { number = Infinity, withdrawnAt = Infinity } = record;
    let last: { readonly name: string; readonly at: number } | undefined;
    const take = (name: string, at = -Infinity): void => {
      if (last === undefined || at > last.at) last = { name, at };
    };
    for (const seat of this.#seats(record, settings)) {
      if (seat.passes !== undefined) take(seat.name, withdrawnAt + seat.passes);
      for (const consumer of seat.consumers) take(consumer.key, consumer.appliedAt(number));
    }
    return last?.name;
  }

  /** The slowest first. */
  consumers(
    record: TerminationRecord,
    settings: AcknowledgementSettings,
    now: number,
  ): ReadonlyMap<string, TerminationConsumer> {
    const question = questionOf(record, settings, now);
    const slowest = new Slowest(mostNamed);
    for (const seat of this.#releases.seats(record, settings)) {
      if (slowest.isSettled) break;
      if (seat.passes !== undefined) {
        const at = question.withdrawnAt + seat.passes;
        const appliedAt = now >= at ? at : undefined;
        slowest.offer(appliedAt, () => [
          seat.name,
          { kind: "dns", basis: "time", appliedAt, isMissing: false, isSilent: false },
        ]);
      } else this.#offer(seat.consumers, () => seat.name, question, slowest);
    }
    for (const node of this.#releases.nodesOf(record, settings)) {
      if (slowest.isSettled) break;
      if (this.#judge.isAbsent(node, question)) continue;
      this.#offer(this.#judge.ofNode(node), () => this.#judge.nodeSeat(node).name, question, slowest);
    }
    return slowest.named;
  }

  /** Made only of those who are named: this is asked for some fifty times a second, and there are thousands. */
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

  #seats(record: TerminationRecord, settings: AcknowledgementSettings): readonly Seat[] {
    const nodes = this.#releases.nodesOf(record, settings);
    return [
      ...this.#releases.seats(record, settings),
      ...nodes.filter(({ isGone }) => !isGone).map((node) => this.#judge.nodeSeat(node)),
    ];
  }
}

function questionOf(record: TerminationRecord, settings: AcknowledgementSettings, now: number): Question {
  const { number = Infinity, withdrawnAt = Infinity } = record;
  return { number, withdrawnAt, settings, now };
}

import type { AcknowledgementSettings } from "../../policy/acknowledgements.ts";
import { mostNamed, type Basis, type TerminationConsumer } from "../termination.ts";
import type { TerminationRecord } from "./record.ts";
import type { Releases } from "./releases.ts";
import { silentAfter, type Judge, type Question, type Seat } from "./seats.ts";

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
    const all: (readonly [string, TerminationConsumer])[] = [];
    for (const seat of this.#seats(record, settings)) {
      const verdict = this.#judge.seat(seat, question);
      if (verdict === "absent") continue;
      const common = { isMissing: verdict === "missing", isSilent: false };
      if (seat.passes !== undefined) {
        const appliedAt = verdict === "applied" ? question.withdrawnAt + seat.passes : undefined;
        all.push([seat.name, { kind: "dns", basis: "time", appliedAt, ...common }]);
      } else if (seat.consumers.length === 0) {
        const [kind = ""] = seat.name.split("/");
        all.push([seat.name, { kind, basis: undefined, appliedAt: undefined, ...common }]);
      }
      for (const consumer of seat.consumers) {
        const appliedAt = consumer.appliedAt(question.number);
        const isSilent = appliedAt === undefined && this.#judge.silence(consumer, now) > silentAfter;
        all.push([
          consumer.key,
          { kind: consumer.kind, basis: consumer.basis, appliedAt, isMissing: false, isSilent },
        ]);
      }
    }
    all.sort(([, a], [, b]) => (b.appliedAt ?? Infinity) - (a.appliedAt ?? Infinity) || 0);
    return new Map(all.slice(0, mostNamed));
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

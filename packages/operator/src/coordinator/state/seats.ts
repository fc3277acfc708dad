import type { AcknowledgementSettings } from "../../policy/acknowledgements.ts";
import type { Consumer } from "./consumer.ts";
import type { Consumers } from "./consumers.ts";
import type { NodeSeat } from "./nodes.ts";
import type { Withdrawals } from "./withdrawals.ts";

/** Milliseconds without a heartbeat, where one is due each second. */
export const silentAfter = 3_000;

/**
 * - `applied`: it has let go.
 * - `behind`: it has not reported so.
 * - `missing`: nobody ever reported for it.
 * - `silent`: it has been silent for so long that it is left out.
 * - `absent`: its node is gone or not Ready: it does not count.
 */
export type Verdict = "applied" | "behind" | "missing" | "silent" | "absent";

/** Of what a verdict is asked. */
export interface Question {
  readonly number: number;
  readonly withdrawnAt: number;
  readonly settings: AcknowledgementSettings;
  readonly now: number;
}

/** One place at the table: all consumers in it must have let go. */
export interface Seat {
  /** "kube-proxy/node5" */
  readonly name: string;
  readonly consumers: readonly Consumer[];
  readonly node: NodeSeat | undefined;
  /** What counts instead of consumers: a time that passes, milliseconds. */
  readonly passes?: number;
}

/** How long a consumer owes a heartbeat, milliseconds: it owes none while there is nothing to say. */
export function silence(consumer: Consumer, withdrawals: Withdrawals, now: number): number {
  const { applied, heardAt } = consumer;
  if (applied >= withdrawals.head) return 0;
  return Math.max(0, now - Math.max(heardAt, withdrawals.timeOf(applied + 1)));
}

export class Judge {
  readonly #consumers: Consumers;
  readonly #withdrawals: Withdrawals;
  #listeningFrom = -Infinity;

  constructor(consumers: Consumers, withdrawals: Withdrawals) {
    this.#consumers = consumers;
    this.#withdrawals = withdrawals;
  }

  node(node: NodeSeat, question: Question): Verdict {
    if (this.isAbsent(node, question)) return "absent";
    return this.#consumersSay(this.ofNode(node), question);
  }

  /** Its node is gone, or has not been Ready for so long that it does not count. */
  isAbsent(node: NodeSeat, { settings, now }: Pick<Question, "settings" | "now">): boolean {
    return node.isGone || now - node.notReadySince >= settings.notReadyAfterSeconds * 1_000;
  }

  ofNode({ name }: NodeSeat): readonly Consumer[] {
    return this.#consumers.ofNode(name);
  }

  /** Changes when some node may have found, or lost, everybody who reports for it. */
  get membership(): number {
    return this.#consumers.version;
  }

  seat({ node, consumers, passes }: Seat, question: Question): Verdict {
    if (passes !== undefined) return question.now >= question.withdrawnAt + passes ? "applied" : "behind";
    return node ? this.node(node, question) : this.#consumersSay(consumers, question);
  }

  nodeSeat(node: NodeSeat): Seat {
    const consumers = this.ofNode(node);
    return { name: consumers[0]?.key ?? `kube-proxy/${node.name}`, consumers, node };
  }

  needSeat(need: string): Seat {
    const all = this.#consumers;
    return {
      name: need,
      // Whoever comes later joins.
      get consumers() {
        return all.serving(need);
      },
      node: undefined,
    };
  }

  silence(consumer: Consumer, now: number): number {
    return Math.min(silence(consumer, this.#withdrawals, now), Math.max(0, now - this.#listeningFrom));
  }

  /** Nobody counts as silent for longer. */
  listenFrom(now: number): void {
    this.#listeningFrom = now;
  }

  #consumersSay(consumers: readonly Consumer[], { number, settings, now }: Question): Verdict {
    if (consumers.length === 0) return "missing";
    let verdict: Verdict = "applied";
    for (const consumer of consumers) {
      if (consumer.hasApplied(number)) continue;
      if (settings.mode === "consistency") return "behind";
      if (this.silence(consumer, now) < settings.silentAfterSeconds * 1_000) return "behind";
      verdict = "silent";
    }
    return verdict;
  }
}

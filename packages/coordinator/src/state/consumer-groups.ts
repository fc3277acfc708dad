import type { AcknowledgementSettings } from "@lameduck/inject";
import type { Consumer } from "./consumer.ts";
import type { Consumers } from "./consumers.ts";
import type { SendingNode } from "./nodes.ts";
import type { Withdrawals } from "./withdrawals.ts";

/** Without a heartbeat for so long, where one is due each second, a consumer is silent. */
export const silentAfterMs = 3_000;

/**
 * - `applied`: all of its consumers report the withdrawal as applied.
 * - `behind`: one of them does not yet.
 * - `missing`: no report ever came for it, or for some pods of its proxy.
 * - `silent`: it has been silent for so long that it no longer counts.
 * - `absent`: its node is gone or not Ready, so that it does not count.
 */
export type GroupState = "applied" | "behind" | "missing" | "silent" | "absent";

/** The withdrawal that is asked about. */
export interface WithdrawalQuery {
  readonly sequence: number;
  readonly withdrawnAt: number;
  readonly settings: AcknowledgementSettings;
  readonly now: number;
}

/** Consumers of one node or one class. All of them must have let go of the pod. */
export interface ConsumerGroup {
  /** "kube-proxy/node5" */
  readonly name: string;
  readonly consumers: readonly Consumer[];
  readonly node: SendingNode | undefined;
  /** For a group without consumers: the time that has to pass. */
  readonly passesMs?: number;
}

/** How long a heartbeat of the consumer has been due, milliseconds. None is due while it has applied everything. */
export function silence(consumer: Consumer, withdrawals: Withdrawals, now: number): number {
  const since = withdrawals.owedSince(consumer.applied, consumer);
  return since === undefined ? 0 : Math.max(0, now - Math.max(consumer.heardAt, since));
}

export class GroupStates {
  readonly #consumers: Consumers;
  readonly #withdrawals: Withdrawals;
  #listeningFrom = -Infinity;
  #halfRead: ReadonlyMap<string, string> = new Map();

  constructor(consumers: Consumers, withdrawals: Withdrawals) {
    this.#consumers = consumers;
    this.#withdrawals = withdrawals;
  }

  stateOfNode(node: SendingNode, query: WithdrawalQuery): GroupState {
    if (this.isAbsent(node, query)) return "absent";
    return this.#stateOf(this.proxiesOf(node), query);
  }

  /** The node is gone, or has been not Ready for so long that it does not count. */
  isAbsent(node: SendingNode, { settings, now }: Pick<WithdrawalQuery, "settings" | "now">): boolean {
    return node.isGone || now - node.notReadySince >= settings.notReadyAfterSeconds * 1_000;
  }

  proxiesOf({ name }: SendingNode): readonly Consumer[] {
    return this.#consumers.proxiesOf(name);
  }

  /** Whether somebody reports for a proxy that runs on the node in kube-proxy's place: "node-proxy/cilium". */
  reportsOn(node: string, need: string): boolean {
    const [, kind] = need.split("/");
    return this.#consumers
      .proxiesOf(node)
      .some((consumer) => consumer.kind === kind || consumer.serves.includes(need));
  }

  /** Changes when a node may have its first consumer, or have lost its last one. */
  get membership(): number {
    return this.#consumers.version;
  }

  stateOfGroup({ node, consumers, passesMs }: ConsumerGroup, query: WithdrawalQuery): GroupState {
    if (passesMs !== undefined) return query.now >= query.withdrawnAt + passesMs ? "applied" : "behind";
    if (node) return this.stateOfNode(node, query);
    return this.isHalfRead(consumers) ? "missing" : this.#stateOf(consumers, query);
  }

  groupOfNode(node: SendingNode): ConsumerGroup {
    const consumers = this.proxiesOf(node);
    return { name: consumers[0]?.key ?? `kube-proxy/${node.name}`, consumers, node };
  }

  groupOfNeed(need: string): ConsumerGroup {
    const all = this.#consumers;
    return {
      name: need,
      // Consumers that register later belong to it, too.
      get consumers() {
        return all.serving(need);
      },
      node: undefined,
    };
  }

  silence(consumer: Consumer, now: number): number {
    return Math.min(silence(consumer, this.#withdrawals, now), Math.max(0, now - this.#listeningFrom));
  }

  /** Whether one of them reports that it still chooses the pod. A watcher that is silent, or cannot read its sender, reports nothing of it. */
  saysSo(consumers: readonly Consumer[], query: WithdrawalQuery): boolean {
    return consumers.some((one) => !one.hasApplied(query.sequence) && !this.#isUnheard(one, query));
  }

  /** Whether it is unknown of one of them what it still chooses: nothing reports for it, or its watcher is silent or cannot read it. */
  isUnread(consumers: readonly Consumer[], query: WithdrawalQuery): boolean {
    if (consumers.length === 0 || this.isHalfRead(consumers)) return true;
    return consumers.some((one) => !one.hasApplied(query.sequence) && this.#isUnheard(one, query));
  }

  #isUnheard(consumer: Consumer, query: WithdrawalQuery): boolean {
    return consumer.problem !== undefined || this.#isSilent(consumer, query);
  }

  #isSilent(consumer: Consumer, { settings, now }: WithdrawalQuery): boolean {
    return this.silence(consumer, now) >= settings.silentAfterSeconds * 1_000;
  }

  /** Whether one of them reports for some pods of its proxy only. */
  isHalfRead(consumers: readonly Consumer[]): boolean {
    return this.lacking(consumers) !== undefined;
  }

  /** Which pod of their proxy nothing reports for, where one of them reports for others of it. */
  lacking(consumers: readonly Consumer[]): string | undefined {
    if (this.#halfRead.size === 0) return undefined;
    const key = consumers.find((one) => this.#halfRead.has(one.key))?.key;
    return key === undefined ? undefined : this.#halfRead.get(key);
  }

  /** @param halfRead consumers that report for some pods of their proxy only, each with what lacks. */
  begin(halfRead: ReadonlyMap<string, string>): void {
    this.#halfRead = halfRead;
  }

  /** No consumer counts as silent for longer than since `now`. */
  listenFrom(now: number): void {
    this.#listeningFrom = now;
  }

  #stateOf(consumers: readonly Consumer[], query: WithdrawalQuery): GroupState {
    if (consumers.length === 0) return "missing";
    let state: GroupState = "applied";
    for (const consumer of consumers) {
      if (consumer.hasApplied(query.sequence)) continue;
      if (query.settings.mode === "consistency" || !this.#isSilent(consumer, query)) return "behind";
      state = "silent";
    }
    return state;
  }
}

import { isNodeProxy, isOfBalancer } from "@lameduck/senders";

/** A pod that has left the ready endpoints and still exists. */
interface Withdrawn {
  readonly sequence: number;
  readonly addresses: readonly string[];
}

interface Numbered extends Withdrawn {
  readonly at: number;
  /** Whom consumers that need not hear of every pod are looked for by: "load-balancer/aws/shop/web". */
  readonly needs: readonly string[];
}

/** Who hears of withdrawals: by what it reports to serve, and its name. */
export interface Listener {
  readonly key: string;
  readonly kind: string;
  readonly serves: readonly string[];
}

/** Numbers whose times are kept. A consumer that is further behind has been silent for long. */
const remembered = 50_000;

/**
 * The withdrawals of one run, numbered in the order in which they were seen. A consumer that only serves load balancers of Services hears of no pods but
 * those behind them: a cloud's watcher has hundreds of such consumers.
 */
export class Withdrawals {
  #lastSequence = 0;
  #version = 0;
  /** By number: insertion is the order of numbers. */
  readonly #there = new Map<number, Numbered>();
  /** The same by each of their needs. */
  readonly #byNeed = new Map<string, Map<number, Numbered>>();
  #times: number[] = [];
  #firstTime = 1;

  /** The greatest number so far. */
  get lastSequence(): number {
    return this.#lastSequence;
  }

  /** Changes when the result of `after` may. */
  get version(): number {
    return this.#version;
  }

  add(addresses: readonly string[], now: number, needs: readonly string[] = []): number {
    const sequence = ++this.#lastSequence;
    this.#version++;
    const one = { sequence, addresses, at: now, needs };
    this.#there.set(sequence, one);
    for (const need of keysOf(needs))
      this.#byNeed.set(need, (this.#byNeed.get(need) ?? new Map()).set(sequence, one));
    this.#times.push(now);
    if (this.#times.length > 2 * remembered) {
      this.#times = this.#times.slice(-remembered);
      this.#firstTime = sequence - remembered + 1;
    }
    return sequence;
  }

  /** The pod is gone, or ready again: consumers need not look for it. */
  drop(sequence: number): void {
    const { needs = [] } = this.#there.get(sequence) ?? {};
    for (const need of keysOf(needs)) {
      const all = this.#byNeed.get(need);
      all?.delete(sequence);
      if (all?.size === 0) this.#byNeed.delete(need);
    }
    if (this.#there.delete(sequence)) this.#version++;
  }

  /**
   * The time, by the coordinator's clock, of the earliest withdrawal that someone with this watermark has yet to apply. Undefined where there is
   * none.
   */
  owedSince(applied: number, listener: Listener): number | undefined {
    const own = needsHeardBy(listener);
    if (own === undefined) return applied >= this.#lastSequence ? undefined : this.#timeOf(applied + 1);
    let first: Numbered | undefined;
    for (const one of this.#of(own, applied)) if (first === undefined || one.at < first.at) first = one;
    return first?.at;
  }

  /** How many withdrawals someone with this watermark has to apply yet. */
  owed(applied: number, listener: Listener): number {
    const own = needsHeardBy(listener);
    return own === undefined ? this.#lastSequence - applied : [...this.#of(own, applied)].length;
  }

  /** The withdrawals that a consumer with this watermark may not have applied. @param listener anybody, unless given. */
  *after(applied: number, listener?: Listener): Generator<Withdrawn> {
    const own = listener && needsHeardBy(listener);
    if (own) yield* this.#of(own, applied);
    else
      for (const { sequence, addresses } of this.#there.values())
        if (sequence > applied) yield { sequence, addresses };
  }

  *#of(needs: readonly string[], applied: number): Generator<Numbered> {
    const all = needs.flatMap((need) => [...(this.#byNeed.get(need)?.values() ?? [])]);
    for (const one of new Set(all)) if (one.sequence > applied) yield one;
  }

  /** Milliseconds by the coordinator's clock; -Infinity where that is no longer kept. */
  #timeOf(sequence: number): number {
    return sequence < this.#firstTime ? -Infinity : (this.#times[sequence - this.#firstTime] ?? Infinity);
  }
}

/** A reader may serve a kind of load balancer for all Services. */
function keysOf(needs: readonly string[]): ReadonlySet<string> {
  return new Set(needs.flatMap((need) => [need, need.split("/", 2).join("/")]));
}

/** By what the pods are known of which it hears; undefined for whoever hears of all. */
export function needsHeardBy({ key, kind, serves }: Listener): readonly string[] | undefined {
  const isNarrow = serves.length > 0 && !isNodeProxy({ kind, serves }) && serves.every(isOfBalancer);
  return isNarrow ? [...serves, declaredAs(key)] : undefined;
}

/** What a DrainPolicy's `external` asks for. */
export const declaredAs = (key: string): string => `consumer/${key}`;

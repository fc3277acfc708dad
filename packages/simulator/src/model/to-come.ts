import { firstAbove } from "../kernel/search.ts";
import { GammaRenewal } from "./renewal.ts";
import type { Arrivals, Trace } from "./trace.ts";

type Arrived = Omit<Trace, "expectedAfter">;

/**
 * How many arrivals are still to come after a moment, on average over all that may follow what came before it. A rule that stops in a lull is not to
 * be charged for the burst that it rightly did not expect, nor one that stops behind a burst be spared the next.
 * `usual`: what each sender's rate was before the deletion.
 */
export function expectationAfter(
  arrivals: Arrivals,
  arrived: Arrived,
  usual: Float64Array,
): (at: number) => number {
  switch (arrivals.kind) {
    case "poisson":
      return (at) => sumOver(arrived, at, (sender, from, to) => arrived.rates[sender]! * (to - from));
    case "bursty":
      return afterBursts(renewalOf(arrivals.cv), arrived, usual);
    case "periodic":
      // A beat leaves hardly anything to chance: what comes is what was to be expected.
      return (at) => arrived.times.length - firstAbove(arrived.times, at);
  }
}

function afterBursts(renewal: GammaRenewal, arrived: Arrived, usual: Float64Array): (at: number) => number {
  const { history, times, senders, rates, unwatched } = arrived;
  const bySender = Array.from(usual, (): number[] => []);
  for (let index = 0; index < times.length; index++) bySender[senders[index]!]!.push(times[index]!);
  return (at) =>
    sumOver(arrived, at, (sender, from, to) => {
      const rate = rates[sender]!;
      if (rate <= 0) return 0;
      const sent = bySender[sender]!;
      const last = sent[firstAbove(sent, from) - 1] ?? unwatched?.[sender] ?? -history;
      // The same gaps pass faster where a sender sends more since the deletion.
      const age = Math.max(0, -last) * usual[sender]! + (from - Math.max(0, last)) * rate;
      return renewal.expected(age, (to - from) * rate);
    });
}

/** Over senders that have not let go at `at`: `from` there `to` their convergence. */
function sumOver(
  { convergence }: Arrived,
  at: number,
  expected: (sender: number, from: number, to: number) => number,
): number {
  let sum = 0;
  for (let sender = 0; sender < convergence.length; sender++)
    if (convergence[sender]! > at) sum += expected(sender, at, convergence[sender]!);
  return sum;
}

const renewals = new Map<number, GammaRenewal>();

/** Its tables are filled as they are asked, once for all terminations. */
function renewalOf(cv: number): GammaRenewal {
  let renewal = renewals.get(cv);
  if (!renewal) renewals.set(cv, (renewal = new GammaRenewal(cv)));
  return renewal;
}

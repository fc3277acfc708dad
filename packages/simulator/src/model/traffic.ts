import type { Random } from "../kernel/random.ts";
import { Guide } from "../kernel/search.ts";
import { expectationAfter } from "./to-come.ts";
import type { Arrivals, Identity, Trace } from "./trace.ts";

export interface TrafficShape {
  readonly arrivals: Arrivals;
  readonly identity: Identity;
}

/**
 * Draws the arrivals of one termination: those before it, from which habits are learnt, and those by senders that still use the pod.
 * `load`: how many times its rate each sender has since the deletion. `joined`: when it took the pod up, where that was not long ago.
 */
export function drawTrace(
  shape: TrafficShape,
  rates: Float64Array,
  convergence: Float64Array,
  history: number,
  random: Random,
  { load, joined }: { readonly load?: Float64Array; readonly joined?: Float64Array | undefined } = {},
): Trace {
  const after = load ? rates.map((rate, sender) => rate * load[sender]!) : rates;
  const always =
    shape.arrivals.kind === "poisson"
      ? load
        ? concat(
            poisson(rates, new Float64Array(rates.length), history, random),
            poisson(after, convergence, 0, random),
          )
        : poisson(rates, convergence, history, random)
      : renewal(shape.arrivals, rates, convergence, history, random, load);
  const drawn = joined ? since(joined, always) : always;
  const identities = new Int32Array(drawn.times.length);
  for (let index = 0; index < identities.length; index++)
    identities[index] = identityOf(shape.identity, drawn.senders[index]!, rates.length, random);
  let first = 0;
  while (first < drawn.times.length && drawn.times[first]! <= 0) first++;
  const trace = { history, convergence, rates: after, ...drawn, identities, first };
  return { ...trace, expectedAfter: expectationAfter(shape.arrivals, { ...trace, ...always }, rates) };
}

type Drawn = Pick<Trace, "times" | "senders" | "unwatched">;

function concat(one: Drawn, other: Drawn): Drawn {
  return {
    times: Float64Array.from([...one.times, ...other.times]),
    senders: Int32Array.from([...one.senders, ...other.senders]),
  };
}

/** Without what senders would have sent before they took the pod up. */
function since(joined: Float64Array, { times, senders, ...drawn }: Drawn): Drawn {
  const isSent = (index: number): boolean => times[index]! >= joined[senders[index]!]!;
  return {
    ...drawn,
    times: times.filter((_, index) => isSent(index)),
    senders: senders.filter((_, index) => isSent(index)),
  };
}

/** One process for all senders, thinned: cost follows the arrivals, not the senders. */
function poisson(rates: Float64Array, convergence: Float64Array, history: number, random: Random): Drawn {
  let total = 0;
  let last = 0;
  const cumulative = new Float64Array(rates.length);
  for (let index = 0; index < rates.length; index++) {
    total += rates[index]!;
    cumulative[index] = total;
    if (rates[index]! > 0) last = Math.max(last, convergence[index]!);
  }
  const times: number[] = [];
  const senders: number[] = [];
  if (total > 0) {
    const guide = new Guide(cumulative);
    for (let at = -history + random.exponential(1 / total); at < last; at += random.exponential(1 / total)) {
      const sender = guide.firstAbove(random.uniform() * total);
      if (at > 0 && at >= convergence[sender]!) continue;
      times.push(at);
      senders.push(sender);
    }
  }
  return { times: new Float64Array(times), senders: new Int32Array(senders) };
}

/** One process per sender, begun long enough ago to have forgotten its beginning. */
function renewal(
  arrivals: Exclude<Arrivals, { kind: "poisson" }>,
  rates: Float64Array,
  convergence: Float64Array,
  history: number,
  random: Random,
  load?: Float64Array,
): Drawn {
  const found: { at: number; sender: number }[] = [];
  const unwatched = new Float64Array(rates.length).fill(-Infinity);
  for (let sender = 0; sender < rates.length; sender++) {
    const rate = rates[sender]!;
    if (rate <= 0) continue;
    const mean = 1 / rate;
    // After the deletion the same gaps pass faster by this factor.
    const times = load?.[sender] ?? 1;
    const end = Math.max(0, convergence[sender]!) * times;
    const compressed = (at: number): number => (at > 0 ? at / times : at);
    if (arrivals.kind === "bursty") {
      const shape = 1 / arrivals.cv ** 2;
      const start = -history - mean * 3 * arrivals.cv ** 2;
      for (let at = start; at < end; at += (random.gamma(shape) / shape) * mean)
        if (at >= -history) found.push({ at: compressed(at), sender });
        else unwatched[sender] = at;
    } else {
      const phase = random.uniform() * mean;
      for (let beat = Math.floor(-history / mean) - 1; ; beat++) {
        const at = beat * mean + phase + (random.uniform() - 0.5) * arrivals.jitter * mean;
        if (at >= end) break;
        if (at >= -history) found.push({ at: compressed(at), sender });
      }
    }
  }
  found.sort((a, b) => a.at - b.at);
  return {
    times: Float64Array.from(found, ({ at }) => at),
    senders: Int32Array.from(found, ({ sender }) => sender),
    unwatched,
  };
}

function identityOf(identity: Identity, sender: number, senders: number, random: Random): number {
  switch (identity.kind) {
    case "sender":
      return sender;
    case "snat":
      return sender % identity.addresses;
    case "clients": {
      const each = Math.max(1, Math.round(identity.count / senders));
      return sender + senders * random.below(each);
    }
  }
}

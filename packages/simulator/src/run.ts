import { draw } from "@lameduck/load/propagation";
import { Random } from "./kernel/random.ts";
import { releasedAt } from "./model/acknowledgements.ts";
import { startForwarder } from "./model/forwarder.ts";
import { type Outcome, terminate } from "./model/termination.ts";
import { drawPooledRequests } from "./model/pooled.ts";
import { senderRates, sendersOf, sendingOf, type Scenario } from "./model/scenario.ts";
import type { Trace } from "./model/trace.ts";
import { drawTrace } from "./model/traffic.ts";
import { simulateWorld, type World } from "./model/world.ts";
import type { Contender } from "./policies/stopper.ts";

export interface Run {
  readonly scenario: Scenario;
  readonly world: World;
  /** When the last sender converged, per termination. */
  readonly oracles: readonly number[];
  /** Outcomes per contender, in the order given: same arrivals for all. */
  readonly outcomes: readonly (readonly Outcome[])[];
  readonly arrivals: number;
}

/** Plays all terminations of a scenario under every contender, on the same arrivals. */
export function run(
  scenario: Scenario,
  contenders: readonly Contender[],
  { seed }: { readonly seed: number },
): Run {
  const world = simulateWorld(scenario, seed);
  const all = { seed, from: 0, to: scenario.terminations, onPlayed: () => true };
  return runOf(scenario, world, seed, playPart(scenario, world, contenders, all));
}

/** Some terminations, one after the other, under some contenders. */
export interface Part {
  /** Per contender. */
  readonly outcomes: readonly (readonly Outcome[])[];
  readonly arrivals: number;
}

interface PartOptions {
  readonly seed: number;
  readonly from: number;
  readonly to: number;
  /** Called after each termination; whether to go on. */
  readonly onPlayed: () => boolean;
}

export function playPart(
  scenario: Scenario,
  world: World,
  contenders: readonly Contender[],
  { seed, from, to, onPlayed }: PartOptions,
): Part {
  const outcomes = contenders.map((): Outcome[] => []);
  let arrivals = 0;
  for (let termination = from; termination < to; termination++) {
    const trace = traceOf(scenario, world, seed, termination);
    arrivals += trace.times.length;
    for (const [index, contender] of contenders.entries())
      outcomes[index]!.push(terminate(contender, scenario, trace, seed, termination));
    if (!onPlayed()) break;
  }
  return { outcomes, arrivals };
}

export function runOf(scenario: Scenario, world: World, seed: number, { outcomes, arrivals }: Part): Run {
  return { scenario, world, oracles: oraclesOf(scenario, world, seed), outcomes, arrivals };
}

/** When the last sender converged, per termination. */
export function oraclesOf(scenario: Scenario, world: World, seed: number): number[] {
  return Array.from(terminationUses(scenario, world, seed), ({ rates, convergence }) =>
    oracleOf(rates, convergence),
  );
}

/** How senders use one pod from its deletion on. */
export interface TerminationUse {
  readonly convergence: Float64Array;
  /** New connections per millisecond of each sender until it lets go. */
  readonly rates: Float64Array;
}

export function* terminationUses(scenario: Scenario, world: World, seed: number): Generator<TerminationUse> {
  const usual = senderRates(scenario);
  for (let termination = 0; termination < scenario.terminations; termination++) {
    const load = loadOf(scenario, world, termination);
    const { convergence } = using(scenario, world, seed, termination);
    yield { convergence, rates: load ? usual.map((rate, sender) => rate * load[sender]!) : usual };
  }
}

/** How many times its usual rate each sender has since the deletion; undefined where it does not change. */
function loadOf({ traffic }: Scenario, world: World, termination: number): Float64Array | undefined {
  return traffic.spread === "known" ? Float64Array.from(world.load[termination]!) : undefined;
}

/** Mean time after the deletion at which a sender let go. */
export function meanConvergence(scenario: Scenario, world: World): number {
  const sends = scenario.senders.flatMap(({ count, share }) =>
    Array.from({ length: count }, () => share > 0),
  );
  let sum = 0;
  for (const times of world.convergence)
    sum += times.reduce((total, time, sender) => total + (sends[sender] ? time : 0), 0);
  return sum / (scenario.terminations * sendingOf(scenario));
}

export function traceOf(scenario: Scenario, world: World, seed: number, termination: number): Trace {
  const { traffic } = scenario;
  const { convergence, joined, watched } = using(scenario, world, seed, termination);
  const arrivals = new Random(seed, "arrivals", termination);
  const history = Math.min(historyOf(scenario), watched);
  const load = traffic.spread === "known" ? { load: Float64Array.from(world.load[termination]!) } : {};
  const drawn = drawTrace(traffic, senderRates(scenario), convergence, history, arrivals, {
    ...load,
    joined,
  });
  const trace = { ...drawn, ...releaseOf(scenario, world, seed, termination) };
  const { pooled, service } = traffic;
  if (!pooled) return trace;
  const requests = (): Random => new Random(seed, "pooled", termination);
  return { ...trace, pooled: () => drawPooledRequests(pooled, sendingOf(scenario), service, requests()) };
}

function releaseOf(
  { acknowledgements, senders, pod }: Scenario,
  world: World,
  seed: number,
  termination: number,
): Pick<Trace, "released"> {
  if (!acknowledgements) return {};
  const withdrawal = {
    at: world.withdrawn[termination]!,
    applied: world.convergence[termination]!,
    incomplete: senders.some(({ reports = true }) => !reports),
    ...(pod.age === undefined ? {} : { publishedAt: -draw(pod.age, ageOf(seed, termination)) }),
  };
  return { released: releasedAt(acknowledgements, withdrawal, new Random(seed, "reports", termination)) };
}

interface Using {
  readonly convergence: Float64Array;
  /** When each sender took the pod up, where that was not long ago. */
  readonly joined: Float64Array | undefined;
  /** For how long it was up at most. */
  readonly watched: number;
}

/** From when and until when each sender uses a pod. */
function using(scenario: Scenario, world: World, seed: number, termination: number): Using {
  const convergence = Float64Array.from(world.convergence[termination]!);
  const { age } = scenario.pod;
  if (age === undefined) return { convergence, joined: undefined, watched: Infinity };
  const random = ageOf(seed, termination);
  const ready = -draw(age, random);
  const joined = joinedAt(scenario, ready, random);
  // A sender that has not learnt of the pod when it is deleted never sends to it.
  for (let sender = 0; sender < joined.length; sender++)
    if (joined[sender]! >= 0) [joined[sender], convergence[sender]] = [Infinity, 0];
  return { convergence, joined, watched: -ready };
}

function ageOf(seed: number, termination: number): Random {
  return new Random(seed, "age", termination);
}

/** Senders learn of a pod's beginning as they learn of its end. */
function joinedAt(scenario: Scenario, ready: number, random: Random): Float64Array {
  const joined = new Float64Array(sendersOf(scenario));
  let index = 0;
  for (const { count, forwarder } of scenario.senders)
    for (let member = 0; member < count; member++)
      joined[index++] = startForwarder(forwarder, random).learn(ready);
  return joined;
}

/** 200 arrivals are enough to learn a sender's rate: longer histories only cost time. */
function historyOf(scenario: Scenario): number {
  const sending = senderRates(scenario).filter((rate) => rate > 0);
  const slowest = sending.reduce((least, rate) => Math.min(least, rate), Infinity);
  return Math.min(scenario.pod.watched, Math.max(10_000, 200 / slowest));
}

function oracleOf(rates: Float64Array, convergence: Float64Array): number {
  let oracle = 0;
  for (let sender = 0; sender < rates.length; sender++)
    if (rates[sender]! > 0) oracle = Math.max(oracle, convergence[sender]!);
  return oracle;
}

/** Mean time from the first deletion of a rollout to the end of its last pod, milliseconds. */
export function rolloutTime(outcomes: readonly Outcome[], { world, scenario }: Run): number {
  const { rollout, pod } = scenario;
  const times: number[] = [];
  let first = 0;
  for (const { pods } of world.rollouts) {
    const played = outcomes.slice(first, first + pods);
    const deletedAt = world.deletedAt.subarray(first, first + pods);
    first += pods;
    if (played.length < pods) break;
    // Where a slot waits for its pod to end, deletions were laid out a whole grace period apart: the rest of it is not waited for.
    const unspent = new Map<number, number>();
    const ends = played.map(({ total }, index) => {
      const slot = rollout.kind === "in-place" ? index % rollout.slots : index;
      const early = unspent.get(slot) ?? 0;
      unspent.set(slot, early + pod.grace - total);
      return deletedAt[index]! - early + total;
    });
    times.push(Math.max(...ends) - deletedAt[0]!);
  }
  return times.reduce((sum, time) => sum + time, 0) / Math.max(1, times.length);
}

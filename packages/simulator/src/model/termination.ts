import { Random } from "../kernel/random.ts";
import { Simulation } from "../kernel/simulation.ts";
import type { Contender, Stopper } from "../policies/stopper.ts";
import { draw } from "./distribution.ts";
import type { Scenario } from "./scenario.ts";
import { Stalls } from "./stalls.ts";
import type { Trace } from "./traffic.ts";

/** Why requests were lost; the words of Lameduck's causes. */
export interface Losses {
  /** C1: a new connection while the listener is closed. */
  stale: number;
  /** C2: a new connection after the pod has gone. */
  gone: number;
  /** C3: a request on a connection that was being closed. */
  keepAlive: number;
  /** C4 and C5: cut while in flight, at the end of the grace period. */
  inFlight: number;
}

export interface Outcome {
  readonly hold: number;
  readonly reason: string;
  readonly losses: Losses;
  readonly lost: number;
  /** New connections that the senders would make after the stop, on average over their arrivals: less noisy than counting one draw of them. */
  readonly expectedLost: number;
  readonly killed: boolean;
  /** When the process ended. */
  readonly total: number;
}

/** @lameduck/node looks up this often while it holds, and notices when it is late by as much. */
const beat = 20;

/** Plays one termination under one policy. Arrivals and durations are the same for every policy. */
export function terminate(
  contender: Contender,
  scenario: Scenario,
  trace: Trace,
  seed: number,
  termination: number,
): Outcome {
  const { stalls } = scenario.pod;
  return new Termination(
    contender,
    scenario,
    trace,
    new Random(seed, "requests", termination),
    stalls && new Stalls(stalls, -trace.history, new Random(seed, "stalls", termination)),
  ).play();
}

class Termination {
  readonly #simulation = new Simulation();
  readonly #scenario: Scenario;
  readonly #trace: Trace;
  readonly #random: Random;
  readonly #stopper: Stopper;
  readonly #stalls: Stalls | undefined;
  readonly #hintsAfter: number;
  readonly #losses: Losses = { stale: 0, gone: 0, keepAlive: 0, inFlight: 0 };
  readonly #withDurations: boolean;
  /** SIGTERM: the kubelet has learnt of the deletion and run the hooks. */
  readonly #signalAt: number;
  /** SIGKILL: the grace period begins when the kubelet does. */
  readonly #deadline: number;
  #next: number;
  #inFlight = 0;
  #connections: number;
  /** By sender: the connections of before, and the requests made on them since the hold began. */
  readonly #pools: { connections: number; requests: number }[];
  #stoppedAt: number | undefined;
  #reason = "";
  #lastEnd = 0;
  /** Else the end of a request cannot end the wait, and asking would only cost time. */
  #waitingForInFlight = false;

  constructor(
    contender: Contender,
    scenario: Scenario,
    trace: Trace,
    random: Random,
    stalls: Stalls | undefined,
  ) {
    this.#stalls = stalls;
    this.#scenario = scenario;
    this.#trace = trace;
    this.#random = random;
    this.#next = trace.first;
    this.#hintsAfter = contender.hintsAfter ?? Infinity;
    this.#withDurations = scenario.traffic.service !== 0;
    const reaction = draw(scenario.pod.reaction, random);
    this.#signalAt = this.#seen(reaction + scenario.pod.prestop);
    this.#deadline = reaction + scenario.pod.grace;
    const connections = scenario.traffic.pooled?.connections ?? 0;
    this.#connections = connections * trace.rates.length;
    // One for each of thousands of senders is a tenth of all time, spent for nothing where there are no pools.
    this.#pools = connections > 0 ? Array.from(trace.rates, () => ({ connections, requests: 0 })) : [];
    let rate = 0;
    let oracle = 0;
    for (let sender = 0; sender < trace.rates.length; sender++) {
      rate += trace.rates[sender]!;
      if (trace.rates[sender]! > 0) oracle = Math.max(oracle, trace.convergence[sender]!);
    }
    this.#stopper = contender.start({ oracle, senders: trace.rates.length, rate });
    this.#stopper.observe({ type: "watching", at: -trace.history });
    if (contender.learns)
      for (let index = 0; index < trace.first; index++)
        this.#tellArrival(index, this.#seen(trace.times[index]!));
  }

  play(): Outcome {
    this.#scheduleArrival();
    this.#schedulePooledRequest();
    this.#simulation.at(this.#signalAt, () => {
      this.#stopper.observe({ type: "termination", at: this.#signalAt });
      this.#scheduleStall(this.#signalAt);
      this.#ask();
    });
    this.#simulation.at(this.#deadline, () => this.#stop("killed"));
    while (this.#stoppedAt === undefined) this.#simulation.run(this.#simulation.now + 60_000);
    this.#simulation.run();
    const hold = this.#stoppedAt;
    const killed = this.#lastEnd > this.#deadline || hold >= this.#deadline;
    const losses = this.#losses;
    const total = killed ? this.#deadline : Math.max(hold, this.#lastEnd);
    return {
      hold,
      reason: this.#reason,
      losses,
      lost: losses.stale + losses.gone + losses.keepAlive + losses.inFlight,
      expectedLost: this.#trace.expectedAfter(hold),
      killed,
      total,
    };
  }

  /** When the pod sees what happens at `at`. */
  #seen(at: number): number {
    return this.#stalls ? this.#stalls.seen(at) : at;
  }

  /** As the library measures it: a beat that was due ended late. Told before what came meanwhile is seen, for timers come first. */
  #scheduleStall(after: number): void {
    const stall = this.#stalls?.next(after);
    if (!stall || this.#stoppedAt !== undefined) return;
    this.#simulation.at(stall.to, () => {
      const due = stall.from + this.#random.uniform() * beat;
      if (stall.to - due > beat) this.#stopper.observe({ type: "blind", at: stall.to, from: due });
      this.#scheduleStall(stall.to);
    });
  }

  #tellArrival(index: number, at: number): void {
    this.#stopper.observe({
      type: "arrival",
      at,
      sender: senderName(this.#trace.identities[index]!),
      kind: "connection",
    });
  }

  #scheduleArrival(): void {
    if (this.#next < this.#trace.times.length)
      this.#simulation.at(this.#trace.times[this.#next]!, () => this.#arrive(this.#next++));
  }

  #arrive(index: number): void {
    const at = this.#simulation.now;
    if (this.#stoppedAt === undefined)
      this.#whenSeen(() => {
        this.#tellArrival(index, this.#simulation.now);
        this.#begin();
      });
    else if (at < this.#goneAt()) this.#losses.stale++;
    else this.#losses.gone++;
    this.#scheduleArrival();
  }

  #whenSeen(happen: () => void): void {
    const at = this.#seen(this.#simulation.now);
    if (at > this.#simulation.now) this.#simulation.at(at, happen);
    else happen();
  }

  #begin(): void {
    if (!this.#withDurations) return;
    const { traffic } = this.#scenario;
    const end = this.#seen(this.#simulation.now + draw(traffic.service, this.#random));
    this.#lastEnd = Math.max(this.#lastEnd, end);
    this.#inFlight++;
    this.#stopper.observe({ type: "in-flight", at: this.#simulation.now, change: 1 });
    if (end > this.#deadline) this.#losses.inFlight++;
    this.#simulation.at(end, () => this.#end());
  }

  #end(): void {
    this.#inFlight--;
    if (this.#stoppedAt !== undefined) return;
    this.#stopper.observe({ type: "in-flight", at: this.#simulation.now, change: -1 });
    if (this.#inFlight === 0 && this.#waitingForInFlight) this.#simulation.after(0, () => this.#ask());
  }

  #ask(): void {
    if (this.#stoppedAt !== undefined) return;
    const decision = this.#stopper.decide(this.#simulation.now);
    this.#waitingForInFlight = !decision.stop && decision.waitingFor === "in-flight";
    if (decision.stop) this.#stop(decision.reason);
    else if (decision.until < Infinity) this.#simulation.at(decision.until, () => this.#askOnceSeen());
  }

  /** After a stall what came meanwhile is seen first: the library's loop turns before it stops. */
  #askOnceSeen(): void {
    const at = this.#seen(this.#simulation.now);
    if (at === this.#simulation.now) this.#ask();
    else this.#simulation.at(at, () => this.#simulation.at(at, () => this.#ask()));
  }

  #stop(reason: string): void {
    if (this.#stoppedAt !== undefined) return;
    this.#stoppedAt = this.#simulation.now;
    this.#reason = reason;
    const { pooled } = this.#scenario.traffic;
    // What is on its way on idle connections when they are closed: requests per millisecond x one-way delay, thinned to those left.
    if (pooled && this.#connections > 0) {
      const left = this.#connections / (pooled.connections * this.#trace.rates.length);
      this.#losses.keepAlive += this.#random.poisson((pooled.perPod / 1_000) * pooled.oneWay * left);
    }
    this.#connections = 0;
  }

  /** Requests on pooled connections: each is a second-clock arrival; once hints are given, its connection goes with the response. */
  #schedulePooledRequest(): void {
    const { pooled } = this.#scenario.traffic;
    if (!pooled || this.#connections <= 0 || pooled.perPod <= 0) return;
    const all = pooled.connections * this.#trace.rates.length;
    const perMillisecond = (pooled.perPod / 1_000) * (this.#connections / all);
    this.#simulation.after(this.#random.exponential(1 / perMillisecond), () => this.#pooledRequest());
  }

  #pooledRequest(): void {
    if (this.#stoppedAt !== undefined || this.#connections <= 0) return;
    const sender = this.#random.below(this.#trace.rates.length);
    const asked = this.#simulation.now >= this.#hintsAfter;
    if (this.#simulation.now >= this.#signalAt) this.#pools[sender]!.requests++;
    const requests = asked ? this.#askedConnection(sender) : 0;
    this.#whenSeen(() => {
      const seen = { at: this.#simulation.now, sender: senderName(sender) };
      this.#stopper.observe({ type: "arrival", ...seen, kind: "request" });
      if (asked) this.#stopper.observe({ type: "asked", ...seen, requests });
      this.#begin();
    });
    this.#schedulePooledRequest();
  }

  /** One of a sender's connections goes. @returns the requests that it has made: its share of them all. */
  #askedConnection(sender: number): number {
    this.#connections--;
    const pool = this.#pools[sender]!;
    const made = pool.requests / Math.max(1, pool.connections--);
    pool.requests -= made;
    return made;
  }

  #goneAt(): number {
    return Math.min(this.#deadline, Math.max(this.#stoppedAt ?? Infinity, this.#lastEnd));
  }
}

const names: string[] = [];

/** Told with every arrival: a text made each time is looked up twice as slowly as one that is known. */
function senderName(identity: number): string {
  return (names[identity] ??= `s${identity}`);
}

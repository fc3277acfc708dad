import { draw } from "@lameduck/load/propagation";
import { Random } from "../kernel/random.ts";
import { Simulation } from "../kernel/simulation.ts";
import { Pools } from "./pooled.ts";
import { sendingOf, type Scenario } from "./scenario.ts";
import { Stalls } from "./stalls.ts";
import type { PooledRequest, Trace } from "./trace.ts";
import type { Contender, Stopper, TerminationFacts } from "../policies/stopper.ts";

/** A connection that comes later than this after a release overrules it, as in @lameduck/drain. */
const onItsWayMs = 100;

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
    (what) => new Random(seed, what, termination),
    stalls && new Stalls(stalls, -trace.history, new Random(seed, "stalls", termination)),
  ).play();
}

class Termination {
  readonly #simulation = new Simulation();
  readonly #scenario: Scenario;
  readonly #trace: Trace;
  readonly #durations: Random;
  readonly #races: Random;
  readonly #stopper: Stopper;
  readonly #stalls: Stalls | undefined;
  /** From when on each client is asked to leave, and how long it takes until all are. */
  readonly #hintsFrom: number;
  readonly #ramp: number;
  readonly #losses: Losses = { stale: 0, gone: 0, keepAlive: 0, inFlight: 0 };
  readonly #withDurations: boolean;
  /** SIGTERM: the kubelet has learnt of the deletion and run the hooks. */
  readonly #signalAt: number;
  /** SIGKILL: the grace period begins when the kubelet does. */
  readonly #deadline: number;
  /** What is in flight then is cut. */
  readonly #cutAt: number;
  readonly #pooled: Iterator<PooledRequest, undefined> | undefined;
  readonly #pools: Pools;
  readonly #seesRelease: boolean;
  /** Infinity before, and once an arrival has overruled it. */
  #releasedAt = Infinity;
  #next: number;
  #inFlight = 0;
  #stoppedAt: number | undefined;
  #reason = "";
  #lastEnd = 0;
  /** Else the end of a request cannot end the wait, and asking would only cost time. */
  #waitingForInFlight = false;

  constructor(
    contender: Contender,
    scenario: Scenario,
    trace: Trace,
    /** One random stream for each purpose, so that a policy that draws more changes nothing for another policy. */
    random: (what: string) => Random,
    stalls: Stalls | undefined,
  ) {
    this.#stalls = stalls;
    this.#scenario = scenario;
    this.#trace = trace;
    this.#durations = random("durations");
    this.#races = random("races");
    this.#next = trace.first;
    this.#withDurations = scenario.traffic.service !== 0;
    const reaction = draw(scenario.pod.reaction, random("reaction"));
    this.#signalAt = this.#seen(reaction + scenario.pod.prestop);
    this.#deadline = reaction + scenario.pod.grace;
    this.#cutAt = Math.min(this.#deadline, this.#signalAt + (contender.finishBy ?? Infinity));
    this.#hintsFrom = this.#signalAt + (contender.hints?.from ?? Infinity);
    this.#ramp = contender.hints?.ramp ?? 0;
    this.#pooled = trace.pooled?.();
    this.#pools = new Pools(sendingOf(scenario), scenario.traffic.pooled?.connections ?? 0, random("turns"));
    this.#seesRelease = contender.seesRelease ?? false;
    this.#stopper = contender.start(factsOf(trace));
    this.#stopper.observe({ type: "watching", at: -trace.history });
    if (contender.learns)
      for (let index = 0; index < trace.first; index++)
        this.#observeArrival(index, this.#seen(trace.times[index]!));
  }

  play(): Outcome {
    this.#scheduleArrival();
    this.#schedulePooledRequest();
    this.#simulation.at(this.#signalAt, () => {
      this.#stopper.observe({ type: "termination", at: this.#signalAt });
      this.#ask();
      if (this.#seesRelease) this.#scheduleRelease();
    });
    this.#simulation.at(this.#deadline, () => this.#stop("killed"));
    while (this.#stoppedAt === undefined) this.#simulation.run(this.#simulation.now + 60_000);
    this.#simulation.run();
    const hold = this.#stoppedAt;
    const killed = hold >= this.#deadline || (this.#losses.inFlight > 0 && this.#cutAt === this.#deadline);
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

  /** The pod begins to ask at SIGTERM. Where no release will come, the coordinator says so. */
  #scheduleRelease(): void {
    const { released = Infinity } = this.#trace;
    if (released === Infinity) this.#unrelease(this.#signalAt);
    const at = this.#seen(Math.max(this.#signalAt, released));
    this.#simulation.at(at, () => {
      if (this.#stoppedAt !== undefined) return;
      this.#releasedAt = at;
      this.#stopper.observe({ type: "released", at });
      this.#ask();
    });
  }

  /** As the library does: its own evidence decides then, unless consistency is asked for. */
  #unrelease(at: number): void {
    const local = this.#scenario.acknowledgements?.mode === "availability";
    this.#releasedAt = Infinity;
    this.#stopper.observe({ type: "unreleased", at, local });
  }

  #observeArrival(index: number, at: number): void {
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
        this.#observeArrival(index, this.#simulation.now);
        if (at > this.#releasedAt + onItsWayMs) this.#unrelease(this.#simulation.now);
        this.#begin(draw(this.#scenario.traffic.service, this.#durations));
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

  #begin(duration: number): void {
    if (!this.#withDurations) return;
    const end = this.#seen(this.#simulation.now + duration);
    this.#lastEnd = Math.max(this.#lastEnd, Math.min(end, this.#cutAt));
    this.#inFlight++;
    this.#stopper.observe({ type: "in-flight", at: this.#simulation.now, change: 1 });
    if (end > this.#cutAt) this.#losses.inFlight++;
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
    if (pooled && this.#pools.open > 0) {
      const left = this.#pools.open / this.#pools.size;
      this.#losses.keepAlive += this.#races.poisson((pooled.perPod / 1_000) * pooled.oneWay * left);
    }
    this.#pools.closeAll();
  }

  #schedulePooledRequest(): void {
    if (this.#pools.open === 0) return;
    const next = this.#pooled?.next();
    if (next && !next.done) this.#simulation.at(next.value.at, () => this.#pooledRequest(next.value));
  }

  /** Each is an arrival on the second clock; once its client is asked to leave, its connection goes with the response. */
  #pooledRequest(request: PooledRequest): void {
    if (this.#pools.has(request)) {
      const asked = this.#simulation.now >= this.#hintsFrom + this.#ramp * this.#pools.turnOf(request);
      if (this.#simulation.now >= this.#signalAt) this.#pools.count(request);
      const requests = asked ? this.#pools.close(request) : 0;
      this.#whenSeen(() => {
        const seen = { at: this.#simulation.now, sender: senderName(request.sender) };
        this.#stopper.observe({ type: "arrival", ...seen, kind: "request" });
        if (asked) this.#stopper.observe({ type: "asked", ...seen, requests });
        this.#begin(request.duration);
      });
    }
    this.#schedulePooledRequest();
  }

  #goneAt(): number {
    return Math.min(this.#deadline, Math.max(this.#stoppedAt ?? Infinity, this.#lastEnd));
  }
}

function factsOf({ rates, convergence }: Trace): TerminationFacts {
  let rate = 0;
  let senders = 0;
  let oracle = 0;
  for (let sender = 0; sender < rates.length; sender++)
    if (rates[sender]! > 0) {
      senders++;
      rate += rates[sender]!;
      oracle = Math.max(oracle, convergence[sender]!);
    }
  return { oracle, senders, rate };
}

const names: string[] = [];

/** Passed with every arrival. It is kept, because looking up a text made each time takes twice as long. */
function senderName(identity: number): string {
  return (names[identity] ??= `s${identity}`);
}

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

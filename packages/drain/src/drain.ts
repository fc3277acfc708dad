import type { Summary } from "./belief/posterior.ts";
import { defaultPrior } from "./belief/hypotheses.ts";
import { drainDefaults, type DrainConfig } from "./config.ts";
import type { Decision, Explanation, StopReason, Wait } from "./decision.ts";
import { Evaluations } from "./evaluations.ts";
import type { Arrival, Observation } from "./observation.ts";
import type { Adaptive, Policy } from "./policy.ts";
import { Release } from "./release.ts";
import { SenderTable, type PendingSender } from "./senders/senders.ts";

/** So long pools must have been unused before a stop that all else allows. */
const gapMs = 200;

/** So long at most a gap is waited for. */
const longestGapWaitMs = 3_000;

/** Pools that were used so recently are in use. A stop while they are is put off until a processor is free. */
const inUseMs = 3_000;
const longestBusyWaitMs = 10_000;
/** The processors count as busy for so long after they were seen to be: somewhat longer than until they are looked at again. */
const busyLastsMs = 750;

/**
 * The decision when a terminating pod may stop. It has no clock and no timers: it is fed with observations, and asked.
 * Times may come from any clock, as long as it is one and the same and never runs backwards.
 */
export class Drain {
  readonly config: DrainConfig;
  /** The release by the cluster. */
  readonly release: Release;
  /** The prior of the environment. Policies without one get the default, for explanations. */
  readonly #belief: { readonly convergence: number; readonly prior: readonly number[] };
  #senders: SenderTable | undefined;
  #terminatedAt: number | undefined;
  #forced = false;
  #inFlight = 0;
  #lastConnection = -Infinity;
  #lastRequest = -Infinity;
  #lastArrival: number | undefined;
  #lastOfPools: number | undefined;
  #lastBusy = -Infinity;
  /** When the stop was first allowed but for a good moment. */
  #allowedAt: number | undefined;
  #trafficKnown = false;
  #connections = 0;
  #requests = 0;
  readonly #evaluations = new Evaluations();

  constructor(config: DrainConfig) {
    this.config = config;
    const { policy } = config;
    const adaptive = weighs(policy) ? policy : undefined;
    this.release = new Release(config.settle);
    this.#belief = {
      convergence: adaptive?.convergence ?? drainDefaults.convergence,
      prior: adaptive?.prior ?? unlearnt,
    };
  }

  observe(observation: Observation): void {
    const { at } = observation;
    // What is no observation of traffic does not begin the watch.
    if (observation.type === "released") return this.release.given(observation);
    if (observation.type === "unreleased") return this.release.withdrawn(observation);
    if (observation.type === "busy") {
      this.#lastBusy = Math.max(this.#lastBusy, at);
      return;
    }
    this.#senders ??= new SenderTable(this.config.maxSenders, this.config.prestop, at);
    switch (observation.type) {
      case "watching":
        this.#senders.watchingFrom(at);
        return;
      case "termination":
        // A second SIGTERM changes nothing: group signals and forwarding parents deliver it twice.
        if (this.#terminatedAt === undefined) this.#senders.heldFrom(at);
        this.#terminatedAt ??= at;
        return;
      case "arrival":
        this.#arrival(observation);
        return;
      case "asked":
        this.#evaluations.observed();
        this.#senders.asked(observation.sender, observation.requests, at);
        return;
      case "in-flight":
        this.#inFlight = Math.max(0, this.#inFlight + observation.change);
        if (this.#inFlight === 0) this.#lastRequest = Math.max(this.#lastRequest, at);
        return;
      case "pool":
        this.#trafficKnown = true;
        this.#lastOfPools = Math.max(this.#lastOfPools ?? -Infinity, at);
        return;
      case "force":
        this.#forced = true;
        return;
    }
  }

  decide(now: number): Decision {
    if (this.#terminatedAt === undefined) return { stop: false, until: Infinity, waitingFor: "termination" };
    if (this.#forced) return { stop: true, reason: "forced" };
    const { floor, cap } = this.config;
    // Sums, not differences: what `until` said must be over when it comes, on a clock with fractions too.
    const floorAt = this.#terminatedAt + floor;
    const capAt = this.#terminatedAt + cap;
    if (now >= capAt) return { stop: true, reason: "cap" };
    const goOn = (until: number, waitingFor: Wait): Decision => ({
      stop: false,
      // NaN does not outlast the cap either.
      until: until < capAt ? until : capAt,
      waitingFor,
    });
    if (now < floorAt) return goOn(floorAt, "floor");
    const [wait] = this.#unmet(now, (policy) => this.#evaluate(now, policy));
    if (wait) return goOn(wait.until, wait.for);
    this.#allowedAt ??= now;
    const [moment] = this.#goodMoment(now);
    if (moment) return goOn(moment.until, moment.for);
    return { stop: true, reason: this.#reason(now, floorAt) };
  }

  explain(now: number): Explanation {
    const expectedLoss = this.#expectedLoss(now);
    return {
      expectedLoss,
      inFlight: this.#inFlight,
      senders: this.#senders?.size ?? 0,
      connections: this.#connections,
      requests: this.#requests,
      lastArrival: this.#lastArrival,
      unmet: this.#unmetWith(now, expectedLoss),
    };
  }

  /** The senders whose arrivals are still expected at `now`, and which the hold waits for. Most expected first. */
  pendingSenders(now: number): PendingSender[] {
    const weights = this.#posterior(now)?.weights;
    if (!weights || !this.#senders || this.#terminatedAt === undefined) return [];
    return this.#senders.pendingSenders(now, this.#belief.convergence, weights);
  }

  /**
   * What this termination says of its environment, to be carried to the next one of the same workload by `learn`. Undefined
   * before the termination, and where nothing was seen.
   */
  priorUpdate(now: number): readonly number[] | undefined {
    return this.#trafficKnown ? this.#posterior(now)?.priorUpdate : undefined;
  }

  #arrival({ sender, kind, asked, at, earlier, old }: Arrival): void {
    this.#evaluations.observed();
    const held = this.#terminatedAt !== undefined;
    this.#trafficKnown = true;
    if (kind === "connection") {
      this.#senders?.arrival(sender, at);
      if (!old) this.release.connection(sender, at, earlier);
      this.#lastConnection = Math.max(this.#lastConnection, at);
      if (held) this.#connections++;
    } else {
      this.#lastRequest = Math.max(this.#lastRequest, at);
      if (held) this.#requests++;
      if (held && !asked) this.#senders?.request(sender, at);
    }
    this.#lastArrival = Math.max(this.#lastArrival ?? -Infinity, at);
  }

  #unmetWith(now: number, expectedLoss: number): Wait[] {
    if (this.#terminatedAt === undefined) return [];
    const all = [
      ...later(now, this.#terminatedAt + this.config.floor, "floor"),
      ...this.#unmet(now, ({ lossBudget }) => (expectedLoss < lossBudget ? undefined : Infinity)),
      ...this.#goodMoment(now),
    ];
    return all.map((one) => one.for);
  }

  /**
   * Conditions of the policy that are not met at `now`, first the one that is waited for.
   * @param evidence until when senders are waited for at least; undefined where enough is known of them.
   */
  #unmet(now: number, evidence: (policy: Weighing) => number | undefined): Awaited[] {
    const { policy } = this.config;
    const terminatedAt = this.#terminatedAt ?? now;
    switch (policy.kind) {
      case "fixed":
        return later(now, terminatedAt + policy.delay, "delay");
      case "until-deadline":
        return [{ until: Infinity, for: "deadline" }];
      case "quiet": {
        const last = Math.max(this.#lastConnection, this.#lastRequest);
        return [
          ...later(now, Math.max(last, terminatedAt) + policy.window, "silence"),
          ...this.#unfinished(),
        ];
      }
      case "adaptive":
        return [...this.#sending(now, evidence(policy)), ...this.#oldConnections(now)];
      case "acknowledged": {
        const senders = this.release.isLocal
          ? this.#sending(now, evidence(policy))
          : later(now, this.release.settledAt, "acknowledgements");
        return [...senders, ...this.#oldConnections(now)];
      }
    }
  }

  /**
   * Senders are waited for until evidence says that all let go, or the cluster does. One that sends rarely leaves too little evidence: where the cluster
   * knows of such, and nobody asks them, they are waited for as long as they are assumed to take.
   */
  #sending(now: number, until: number | undefined): Awaited[] {
    const { settledAt, assumedUntil } = this.release;
    if (now >= settledAt) return [];
    const silence: Awaited[] =
      until === undefined ? [] : [{ until: Math.min(until, settledAt), for: "silence" }];
    return [...silence, ...later(now, assumedUntil, "acknowledgements")];
  }

  /**
   * Connections from before the hold are a second clock: they must be silent too, and nothing in flight. Once nobody opens new ones, these become
   * fewer, and a shorter silence is enough.
   */
  #oldConnections(now: number): Awaited[] {
    const { requestQuiet, settle } = this.config;
    const quiet = now >= this.release.settledAt ? Math.min(requestQuiet, settle) : requestQuiet;
    const silentAt = this.#requests > 0 ? this.#lastRequest + quiet : now;
    return [...this.#unfinished(), ...later(now, silentAt, "requests")];
  }

  #unfinished(): Awaited[] {
    return this.#inFlight > 0 ? [{ until: Infinity, for: "in-flight" }] : [];
  }

  /**
   * Whoever closes connections of a pool loses the request that is on its way. Pools as most clients keep them use the latest connection first. A gap says
   * that it leads elsewhere for the moment; the moment after an answer is the worst of all. A server closes slowly while other programs take the
   * processors. It answers nothing meanwhile.
   */
  #goodMoment(now: number): Awaited[] {
    const last = this.#lastOfPools;
    if (last === undefined || this.#allowedAt === undefined || this.config.policy.kind === "fixed") return [];
    const busyUntil = Math.min(this.#lastBusy + busyLastsMs, this.#allowedAt + longestBusyWaitMs);
    const from = Math.max(this.#allowedAt, busyUntil);
    return [
      ...later(now, Math.min(busyUntil, last + inUseMs), "processor"),
      ...later(now, Math.min(last + gapMs, from + longestGapWaitMs), "gap"),
    ];
  }

  #evaluate(now: number, { lossBudget }: Weighing): number | undefined {
    return this.#evaluations.next(now, this.#terminatedAt ?? now, lossBudget, (at) => this.#expectedLoss(at));
  }

  #expectedLoss(now: number): number {
    return this.#posterior(now)?.expectedLoss ?? 0;
  }

  #posterior(now: number): Summary | undefined {
    if (!this.#senders || this.#terminatedAt === undefined) return undefined;
    const { convergence, prior } = this.#belief;
    return this.#senders.posterior(now, convergence, prior);
  }

  #reason(now: number, floorAt: number): StopReason {
    const { policy } = this.config;
    const { kind } = policy;
    if (kind === "acknowledged" && !this.release.isLocal) return "acknowledged";
    if (kind !== "fixed" && !this.#trafficKnown) return "idle";
    if (this.config.floor > 0 && this.#wasMetBy(floorAt)) return "floor";
    if (now >= this.release.settledAt && weighs(policy) && !this.#isEnough(now, policy))
      return "acknowledged";
    return kind === "fixed" ? "delay" : "quiet";
  }

  #isEnough(now: number, { lossBudget }: Weighing): boolean {
    return this.#expectedLoss(now) < lossBudget;
  }

  /** Whether all conditions were met at that time, and nothing arrived later. */
  #wasMetBy(at: number): boolean {
    const isLast = Math.max(this.#lastConnection, this.#lastRequest) <= at;
    return (
      isLast && this.#unmet(at, (policy) => (this.#isEnough(at, policy) ? undefined : Infinity)).length === 0
    );
  }
}

/** Policies that weigh evidence, always or where they must. */
type Weighing = Pick<Adaptive, "lossBudget" | "convergence" | "prior">;

function weighs(policy: Policy): policy is Policy & Weighing {
  return "lossBudget" in policy;
}

const unlearnt = defaultPrior();

/** What a wait is for, and when to ask again. */
interface Awaited {
  readonly for: Wait;
  readonly until: number;
}

function later(now: number, until: number, what: Wait): Awaited[] {
  return now < until ? [{ until, for: what }] : [];
}

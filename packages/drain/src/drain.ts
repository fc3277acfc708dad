import { drainDefaults, type DrainConfig } from "./config.ts";
import type { Verdict } from "./belief/environments.ts";
import type { Adaptive, Policy } from "./policy.ts";
import type { Arrival, Observation } from "./observation.ts";
import { unlearntPrior } from "./belief/hypotheses.ts";
import { Release } from "./release.ts";
import { SenderTable, type Suspect } from "./senders/senders.ts";

/**
 * Why the hold ended. `floor`: the policy was content before the shortest hold was over. `idle`: nothing has ever arrived. `acknowledged`: all consumers have
 * let go, which under `adaptive` is the reason where the evidence alone would have gone on.
 */
export type StopReason = "delay" | "floor" | "quiet" | "idle" | "acknowledged" | "cap" | "forced";

/** What a hold that goes on is waiting for. */
export type Wait =
  "termination" | "floor" | "delay" | "deadline" | "silence" | "requests" | "in-flight" | "acknowledgements";

export type Decision =
  | { readonly stop: true; readonly reason: StopReason }
  | {
      readonly stop: false;
      /** Ask again then, unless an observation that ends a wait (in-flight, acknowledgement, force) comes first. */
      readonly until: number;
      readonly waitingFor: Wait;
    };

/** Numbers behind a decision, for logs and reports. */
export interface Explanation {
  /** Requests expected to arrive within one `convergence` after a stop now. Only the adaptive policy weighs them. */
  readonly expectedLoss: number;
  readonly inFlight: number;
  readonly senders: number;
  /** New connections since the hold began. */
  readonly connections: number;
  /** Requests on older connections since the hold began. */
  readonly requests: number;
  /** Time of the last arrival of either kind, if any. */
  readonly lastArrival: number | undefined;
}

/**
 * The decision when a terminating pod may stop. It has no clock and does nothing by itself: it is told what was observed, and asked.
 * Times may come from any clock, as long as it is one and the same and never runs backwards.
 */
export class Drain {
  readonly config: DrainConfig;
  /** What the cluster said. */
  readonly release: Release;
  /** What is believed of the environment beforehand; a policy that does not weigh it is told the usual. */
  readonly #belief: { readonly convergence: number; readonly prior: readonly number[] };
  readonly #acknowledged = new Set<string>();
  #senders: SenderTable | undefined;
  #terminatedAt: number | undefined;
  #forced = false;
  #inFlight = 0;
  #lastConnection = -Infinity;
  #lastRequest = -Infinity;
  #lastArrival: number | undefined;
  #trafficKnown = false;
  #connections = 0;
  #requests = 0;
  /** How much has been told, when evidence is weighed again, and on how much it was found to be enough. */
  #told = 0;
  #weighAt = -Infinity;
  #enough: number | undefined;

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
    // What is said of senders is no sight of them: it begins nothing.
    if (observation.type === "released") return this.release.given(observation);
    if (observation.type === "unreleased") return this.release.withdrawn(observation);
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
        this.#told++;
        this.#senders.asked(observation.sender, observation.requests, at);
        return;
      case "rate":
        this.#trafficKnown ||= observation.perSecond > 0;
        this.#told++;
        this.#senders.rate(observation.sender, observation.perSecond / 1_000);
        return;
      case "in-flight":
        this.#inFlight = Math.max(0, this.#inFlight + observation.change);
        if (this.#inFlight === 0) this.#lastRequest = Math.max(this.#lastRequest, at);
        return;
      case "acknowledgement":
        this.#acknowledged.add(observation.consumer);
        return;
      case "blind":
        // What waited in the kernel meanwhile is seen by now: silence that it ends in was silence.
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
      // Nor does a number that is none outlast the cap.
      until: until < capAt ? until : capAt,
      waitingFor,
    });
    if (now < floorAt) return goOn(floorAt, "floor");
    const wait = this.#wait(now);
    if (wait) return goOn(wait.until, wait.for);
    return { stop: true, reason: this.#reason(now, floorAt) };
  }

  explain(now: number): Explanation {
    return {
      expectedLoss: this.#expectedLoss(now),
      inFlight: this.#inFlight,
      senders: this.#senders?.size ?? 0,
      connections: this.#connections,
      requests: this.#requests,
      lastArrival: this.#lastArrival,
    };
  }

  /** Whose arrivals are still to be expected at `now`, those of whom most is first: whom the hold waits for. */
  suspects(now: number): Suspect[] {
    const weights = this.#weigh(now)?.weights;
    if (!weights || !this.#senders || this.#terminatedAt === undefined) return [];
    return this.#senders.suspects(now, this.#belief.convergence, weights);
  }

  /**
   * What this termination says of its environment, to be carried to the next one of the same workload by `learn`. Undefined
   * before the termination, and where nothing was seen.
   */
  lesson(now: number): readonly number[] | undefined {
    return this.#trafficKnown ? this.#weigh(now)?.lesson : undefined;
  }

  #arrival({ sender, kind, asked, at, earlier, old }: Arrival): void {
    this.#told++;
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

  /** What the policy still waits for at `now`, and until when at least; undefined once it is content. */
  #wait(now: number): Awaited | undefined {
    const { policy, requestQuiet } = this.config;
    const terminatedAt = this.#terminatedAt ?? now;
    switch (policy.kind) {
      case "fixed":
        return later(now, terminatedAt + policy.delay, "delay");
      case "until-deadline":
        return { until: Infinity, for: "deadline" };
      case "quiet": {
        const last = Math.max(this.#lastConnection, this.#lastRequest);
        return later(now, Math.max(last, terminatedAt) + policy.window, "silence") ?? this.#waitInFlight();
      }
      case "adaptive":
        return this.#waitUntilAllLetGo(now, policy) ?? this.#waitForOldConnections(now, requestQuiet);
      case "acknowledged": {
        if (policy.consumers === "cluster") {
          const { isLocal, settledAt } = this.release;
          const wait = isLocal
            ? this.#waitUntilAllLetGo(now, policy)
            : later(now, settledAt, "acknowledgements");
          return wait ?? this.#waitForOldConnections(now, requestQuiet);
        }
        const confirmed = policy.consumers.filter((consumer) => this.#acknowledged.has(consumer)).length;
        if (confirmed < policy.quorum) return { until: Infinity, for: "acknowledgements" };
        return this.#waitForOldConnections(now, requestQuiet);
      }
    }
  }

  /** Evidence says so, or the cluster, whichever comes first. */
  #waitUntilAllLetGo(now: number, policy: Weighing): Awaited | undefined {
    const evidence = this.#waitForEvidence(now, policy);
    const { settledAt } = this.release;
    if (!evidence || now >= settledAt) return undefined;
    return { for: evidence.for, until: Math.min(evidence.until, settledAt) };
  }

  /**
   * Evidence is weighed some twenty times in a hold, whatever comes in between: again after a sixty-fourth of the hold where the loss is close to the
   * budget, and after six of them where it is far above. What is enough remains so until something is seen.
   */
  #waitForEvidence(now: number, { lossBudget }: Weighing): Awaited | undefined {
    if (this.#enough === this.#told) return undefined;
    if (now >= this.#weighAt) {
      const above = Math.log(this.#expectedLoss(now) / lossBudget);
      const held = now - (this.#terminatedAt ?? now);
      this.#weighAt = now + Math.max(shortestPause, (held / 64) * Math.min(6, Math.max(1, above)));
      this.#enough = above < 0 ? this.#told : undefined;
      if (above < 0) return undefined;
    }
    return { until: this.#weighAt, for: "silence" };
  }

  /** Connections from before the hold are a second clock: they must be silent too, and nothing in flight. */
  #waitForOldConnections(now: number, quiet: number): Awaited | undefined {
    return (
      this.#waitInFlight() ??
      (this.#requests > 0 ? later(now, this.#lastRequest + quiet, "requests") : undefined)
    );
  }

  #waitInFlight(): Awaited | undefined {
    return this.#inFlight > 0 ? { until: Infinity, for: "in-flight" } : undefined;
  }

  #expectedLoss(now: number): number {
    return this.#weigh(now)?.expectedLoss ?? 0;
  }

  #weigh(now: number): Verdict | undefined {
    if (!this.#senders || this.#terminatedAt === undefined) return undefined;
    const { convergence, prior } = this.#belief;
    return this.#senders.weigh(now, convergence, prior);
  }

  #reason(now: number, floorAt: number): StopReason {
    const { policy } = this.config;
    const { kind } = policy;
    if (kind === "acknowledged" && !(weighs(policy) && this.release.isLocal)) return "acknowledged";
    if (kind !== "fixed" && !this.#trafficKnown) return "idle";
    if (this.config.floor > 0 && this.#firedBy(floorAt) && this.#contentAt(floorAt)) return "floor";
    if (now >= this.release.settledAt && weighs(policy) && !this.#isEnough(now, policy))
      return "acknowledged";
    return kind === "fixed" ? "delay" : "quiet";
  }

  #contentAt(now: number): boolean {
    const { policy, requestQuiet } = this.config;
    if (!weighs(policy)) return !this.#wait(now);
    const allLetGo = now >= this.release.settledAt || this.#isEnough(now, policy);
    return allLetGo && !this.#waitForOldConnections(now, requestQuiet);
  }

  #isEnough(now: number, { lossBudget }: Weighing): boolean {
    return this.#expectedLoss(now) < lossBudget;
  }

  /** Whether everything that ended the wait had been seen by `at`. */
  #firedBy(at: number): boolean {
    return Math.max(this.#lastConnection, this.#lastRequest) <= at;
  }
}

/** Policies that weigh evidence, always or where they must. */
type Weighing = Pick<Adaptive, "lossBudget" | "convergence" | "prior">;

function weighs(policy: Policy): policy is Policy & Weighing {
  return "lossBudget" in policy;
}

const unlearnt = unlearntPrior();

/** Evidence is weighed no more often, ms. */
const shortestPause = 20;

/** What a wait is for, and when to ask again. */
interface Awaited {
  readonly for: Wait;
  readonly until: number;
}

function later(now: number, until: number, what: Wait): Awaited | undefined {
  return now < until ? { until, for: what } : undefined;
}

import { Conditions, type Timeline, type Decision, type Explanation, type StopReason } from "@lameduck/drain";
import { nextTurn, sleep, type Clock } from "../clock.ts";
import type { Servers } from "../servers/servers.ts";
import type { Evidence } from "./evidence.ts";
import { acknowledgingOf, cutText } from "./network-cut.ts";

/** Interval of the hold's timer. An event loop that stands still is noticed from twice this time on. */
const tickPeriodMs = 20;

/** What makes one hold different from others. */
export interface HoldKind {
  /** The init or a preStop hook has held before: clients are asked to leave from the beginning, and nothing else is waited for. */
  readonly isSecond: boolean;
  /** Whether somebody has asked for its end. */
  readonly isAsked: () => boolean;
  /** Called when no sender is waited for any more, only for what is in flight or on old connections. It may be called again. */
  readonly converged: () => void;
}

/** Between two looks whether somebody has asked for the end. */
const askPeriodMs = 200;

/** What a hold waits for once the senders have converged. */
const ofPool: readonly string[] = ["in-flight", "requests"];

export interface HoldEnd {
  readonly reason: StopReason;
  readonly explanation: Explanation;
  /** Whom it waited for, and which condition of the stop was met when. */
  readonly timeline: Timeline;
  /** Milliseconds. */
  readonly hold: number;
  /** Milliseconds for which the event loop stood still. */
  readonly stalled: number;
  /** Why its silence may not be that of senders. */
  readonly cut: string | undefined;
  /** What the hold says of the environment, for `learn`; undefined where nothing was seen. */
  readonly priorUpdate: readonly number[] | undefined;
}

/** What a hold does with the servers. */
type HeldServers = Pick<Servers, "hold" | "hint" | "tick" | "accepted" | "listeners">;

/** The time between SIGTERM and the decision that it is safe to stop: serving, watching, and after a while asking clients to leave. */
export class Hold {
  readonly #evidence: Evidence;
  readonly #servers: HeldServers;
  readonly #clock: Clock;
  readonly #hintAt: number;
  readonly #ramp: number;
  #stalled = 0;
  #conditions: Conditions | undefined;
  #end: HoldEnd | undefined;
  /** Something that may end a wait has been observed: ask again. */
  #ask = true;
  readonly #wake = new AbortController();

  constructor(
    evidence: Evidence,
    servers: HeldServers,
    clock: Clock,
    settings: { hintAt: number; ramp: number },
  ) {
    this.#evidence = evidence;
    this.#servers = servers;
    this.#clock = clock;
    this.#hintAt = settings.hintAt;
    this.#ramp = settings.ramp;
  }

  /** To be called after an observation that may end the wait: nothing in flight any more, a release, a force. */
  reconsider(): void {
    this.#ask = true;
  }

  /** Ends the hold now. */
  force(): void {
    this.#evidence.observe({ type: "force", at: this.#clock.now() });
    this.#ask = true;
    this.#wake.abort();
  }

  /** Whom it waits for, or waited for at its end; undefined before it began. */
  timeline(now = this.#clock.now()): Timeline | undefined {
    return this.#end?.timeline ?? this.#conditions?.timeline(now);
  }

  #decide(now: number): Decision {
    const decision = this.#evidence.decide(now);
    this.#conditions?.decided(now, decision);
    return decision;
  }

  /** @param capAt when it must be over, which for a signal that came late is before the cap has passed. */
  async run(capAt: number, { isSecond, isAsked, converged }: HoldKind): Promise<HoldEnd> {
    const from = this.#clock.now();
    const evidence = this.#evidence;
    this.#conditions = new Conditions(evidence, from);
    evidence.observe({ type: "termination", at: from });
    this.#servers.hold();
    let until = from;
    let askAt = from;
    for (;;) {
      const now = this.#clock.now();
      this.#hint(now - from, isSecond ? 0 : this.#hintAt);
      if (now >= askAt) {
        askAt = now + askPeriodMs;
        if (isAsked()) this.force();
      }
      this.#servers.tick();
      if (this.#ask || now >= until) {
        this.#ask = false;
        const decision = this.#decide(now);
        if (now >= capAt || (decision.stop && (await this.#stillStops()))) break;
        if (!decision.stop && ofPool.includes(decision.waitingFor)) converged();
        until = decision.stop ? now : Math.min(decision.until, capAt);
      }
      await this.#tick(until);
    }
    const end = this.#clock.now();
    const decision = this.#decide(end);
    const reason = decision.stop ? decision.reason : isSecond ? "delay" : "cap";
    evidence.end(end, reason);
    const explanation = evidence.explain(end);
    const { lastArrival } = explanation;
    this.#end = {
      reason,
      explanation,
      cut: cutText(
        acknowledgingOf(this.#servers.listeners),
        lastArrival === undefined ? undefined : end - lastArrival,
      ),
      timeline: this.#conditions.timeline(end),
      hold: end - from,
      stalled: this.#stalled,
      priorUpdate: evidence.priorUpdate(end),
    };
    return this.#end;
  }

  /**
   * Closing a listener resets what waits in its accept queue, and a timer fires before the sockets are read. So the loop turns
   * until nothing more is accepted; what came meanwhile is evidence, and the decision is taken again.
   */
  async #stillStops(): Promise<boolean> {
    for (let attempt = 0; attempt < 10; attempt++) {
      const before = this.#servers.accepted;
      for (let turn = 0; turn < 3; turn++) await nextTurn();
      if (this.#servers.accepted === before) break;
    }
    return this.#decide(this.#clock.now()).stop;
  }

  #hint(held: number, from: number): void {
    if (held < from) return;
    const share = this.#ramp === 0 ? 1 : Math.min(1, (held - from) / this.#ramp);
    this.#servers.hint(share);
  }

  /** While a tick is late, the event loop stood still. That is only reported: what came meanwhile waited in the kernel, and is read before the decision. */
  async #tick(until: number): Promise<void> {
    const from = this.#clock.now();
    const pause = Math.max(1, Math.min(tickPeriodMs, until - from));
    await sleep(pause, this.#wake.signal);
    const late = this.#clock.now() - from - pause;
    if (late > tickPeriodMs) this.#stalled += late;
  }
}

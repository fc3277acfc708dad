import { timelineText, type Timeline } from "@lameduck/drain";
import type { ClosedEvent, ClosingEvent, HoldExplained, HookOutcome, LameDuckEvent } from "../events.ts";
import type { Deadlines } from "../closing/deadlines.ts";
import type { HoldEnd } from "../hold/hold.ts";
import type { Settings } from "../options/settings.ts";
import type { Cut, Lasting } from "../protocols/watch.ts";

/** What became of connections. */
interface Outcome {
  readonly cut: Cut;
  readonly lasting: Lasting;
}

/** Builds the events of one termination. Times within the process are monotonic; events carry time of day. */
export class TerminationEvents {
  readonly #settings: Settings;
  readonly #from: number;
  readonly #epoch: number;
  readonly #killAt: number;
  readonly #late: number;

  constructor(settings: Settings, from: number, { kill, late }: Deadlines) {
    this.#settings = settings;
    this.#from = from;
    this.#killAt = kill;
    this.#late = late;
    this.#epoch = Date.now() - from;
  }

  lameDuck(reason: string, inFlight: number, open: number): LameDuckEvent {
    const { policy, floor, cap } = this.#settings.drain;
    return {
      ...this.#common(this.#from),
      phase: "lame-duck",
      reason,
      policy: policy.kind,
      floor: Math.round(floor),
      cap: Math.round(cap),
      deadline: this.#timeOfDay(this.#killAt),
      late: Math.round(this.#late),
      inFlight,
      open,
    };
  }

  closing(now: number, end: HoldEnd, open: number): ClosingEvent {
    const { expectedLoss, inFlight, senders, connections, requests, lastArrival } = end.explanation;
    const why = explained(end.timeline);
    return {
      ...this.#common(now),
      phase: "closing",
      reason: end.reason,
      hold: Math.round(end.hold),
      expectedLoss: Number(expectedLoss.toPrecision(3)),
      inFlight,
      senders,
      connections,
      requests,
      lastArrival: lastArrival === undefined ? null : this.#timeOfDay(lastArrival),
      stalled: Math.round(end.stalled),
      open,
      ...why,
      ...(end.cut === undefined
        ? {}
        : { network: "cut" as const, explanation: `${why.explanation}, ${end.cut}` }),
    };
  }

  closed(
    now: number,
    { cut, lasting }: Outcome,
    hooks: readonly HookOutcome[],
    exitCode: number | null,
  ): ClosedEvent {
    const isCut = cut.requests + cut.connections > 0 || hooks.some((hook) => hook.result === "skipped");
    return {
      ...this.#common(now),
      phase: "closed",
      reason: isCut ? "deadline" : "done",
      cut,
      lasting,
      hooks,
      exitCode,
    };
  }

  /** The application called process.exit(), whatever was still going on. */
  exited(now: number, outcome: Outcome, hooks: readonly HookOutcome[], exitCode: number): ClosedEvent {
    return { ...this.closed(now, outcome, hooks, exitCode), reason: "exit" };
  }

  #common(now: number): { lameduck: "phase"; at: number; pid: number; elapsed: number } {
    return {
      lameduck: "phase",
      at: this.#timeOfDay(now),
      pid: process.pid,
      elapsed: Math.round(now - this.#from),
    };
  }

  #timeOfDay(time: number): number {
    return Math.round(this.#epoch + time);
  }
}

export function explained(timeline: Timeline): HoldExplained {
  const { sender: pendingSender, met, unmet, release, overruled } = timeline;
  return {
    waitedFor: pendingSender
      ? {
          sender: pendingSender.sender ?? null,
          perSecond: Number(pendingSender.perSecond.toPrecision(3)),
          silence: Math.round(pendingSender.silence),
        }
      : null,
    met: Object.fromEntries(met.map(({ condition, at }) => [condition, Math.round(at)])),
    unmet,
    released: release
      ? { consumers: release.consumers ?? null, last: release.last ?? null, at: Math.round(release.after) }
      : null,
    overruledBy: overruled?.sender ?? null,
    explanation: timelineText(timeline),
  };
}

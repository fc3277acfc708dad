import { formatDuration } from "@lameduck/drain";
import { messageOf } from "@lameduck/drain/common";
import { untilSettled, type Clock } from "./clock.ts";
import type { Closing } from "./closing/closing.ts";
import { deadlinesOf, withoutKill, type Deadlines } from "./closing/deadlines.ts";
import type { Hooks } from "./closing/hooks.ts";
import type { Coordinator } from "./coordinator/coordinator.ts";
import { reportAtBegin, reportAtStop } from "./coordinator/pod-reports.ts";
import type { ClosedEvent, Phase } from "./events.ts";
import type { Evidence } from "./hold/evidence.ts";
import type { Hold, HoldEnd } from "./hold/hold.ts";
import type { HeldBefore, Holder } from "./hold/holders.ts";
import type { Settings } from "./options/settings.ts";
import type { Announcer } from "./reports/announce.ts";
import type { Recording } from "./hold/recording.ts";
import { TerminationEvents } from "./reports/termination-events.ts";
import type { Servers } from "./servers/servers.ts";
import { surviveCrashes, tellCrash } from "./signals/crashes.ts";
import type { OtherHandlers } from "./signals/other-handlers.ts";
import { signalGate } from "./signals/signals.ts";

/** A slow disk may take so long for the end of a recording. */
const longestWriteMs = 250;
/** Handlers have at least this time to close servers themselves. */
const shortTurnMs = 1_000;
/** The last reports have this time where the program has used up its own. */
const longestReportMs = 1_000;

/** What a termination works with. */
interface Parts {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly announcer: Announcer;
  readonly servers: Servers;
  readonly evidence: Evidence;
  readonly hold: Hold;
  readonly closing: Closing;
  readonly hooks: Hooks;
  readonly others: OtherHandlers;
  /** Ends the span of the termination. */
  readonly endSpan: () => void;
  readonly recording: Recording | undefined;
  readonly coordinator: Coordinator | undefined;
  /** Undefined outside of a pod. */
  readonly holder: Holder | undefined;
}

/** What a termination tells its Lameduck. */
interface Owner {
  /** Whether the process ends with it: this may change until the end. */
  readonly exits: () => boolean;
  readonly enter: (phase: Phase) => void;
  readonly held: (end: HoldEnd) => void;
  /** Handlers of the program may get the signal from now on. */
  readonly letOthers: () => void;
  /** Closing begins. The event of the end of the hold has been sent. */
  readonly close: (end: HoldEnd) => void;
  /** @param until when the program must have ended, too; undefined where nobody kills it. */
  readonly end: (exitCode: number | null, until: number | undefined) => void;
}

interface Held {
  /** Settles when the hooks of the lame-duck phase have ended, which may outlast it. */
  readonly hooks: Promise<void>;
  readonly isCapped: boolean;
  /** Somebody has asked for the end. */
  readonly isForced: boolean;
}

/** What happens from the signal to the exit, in order. */
export class Termination {
  readonly #parts: Parts;
  readonly #owner: Owner;

  constructor(parts: Parts, owner: Owner) {
    this.#parts = parts;
    this.#owner = owner;
  }

  /** @param late how long ago the signal was sent, in milliseconds. */
  async run(reason: string, late: number, isCrash: boolean): Promise<ClosedEvent> {
    const { settings, clock, announcer, servers, hooks, others } = this.#parts;
    const { recording, coordinator } = this.#parts;
    const from = clock.now();
    const heldBefore = this.#heldBefore();
    const by = deadlinesOf(settings, {
      from,
      late,
      isCrash,
      held: heldBefore,
      hasClosedHooks: hooks.has("closed"),
    });
    const events = new TerminationEvents(settings, from, by);
    const cap = Math.min(settings.drain.cap, Math.max(1, by.cap - from));
    recording?.begin(reason, { ...settings.drain, cap });
    const leaveExit = this.#reportExit(events);
    const noLongerSurvive = surviveCrashes((message) => {
      tellCrash(message, announcer, settings.log);
      if (this.#owner.exits()) others.crashed();
    });
    try {
      const held = await this.#serveOn(events, reason, { by, heldBefore, isCrash });
      await this.#close(held, others.exist && !settings.isKilled ? withoutKill(by) : by);
    } catch (error) {
      // Whatever goes wrong, the process must end in order and say so. The hold would go on beside that.
      this.#parts.hold.force();
      this.#parts.holder?.end();
      announcer.notice("internal", messageOf(error));
      if (!hooks.hasBegun("closed")) await this.#runClosedHooks(by);
    }
    const cut = servers.cut();
    this.#owner.enter("closed");
    leaveExit();
    const exitCode = this.#exitCode();
    const closed = events.closed(clock.now(), { cut, lasting: servers.ended }, hooks.outcomes, exitCode);
    const left = Math.max(by.hooks, others.exist ? clock.now() + longestReportMs : 0) - clock.now();
    const reported = [
      announcer.phase(closed),
      recording?.written ?? Promise.resolve(),
      coordinator?.end({ phase: closed.phase }, left) ?? Promise.resolve(),
    ];
    await untilSettled(Promise.all(reported), left);
    noLongerSurvive();
    this.#owner.end(exitCode, settings.isKilled ? by.hooks : undefined);
    return closed;
  }

  /** What comes after the hold, in order. The program's own shutdown is part of it. */
  async #close({ hooks: lameDuckHooks, isCapped, isForced }: Held, by: Deadlines): Promise<void> {
    const { settings, clock, evidence, closing, hooks, others, endSpan, servers } = this.#parts;
    const areOthers = others.exist;
    let closingHooks: Promise<void> | undefined;
    const runHooks = (): Promise<void> =>
      (closingHooks ??= lameDuckHooks.then(() => hooks.run("closing", by.requests)));
    let isListening = true;
    const stopListening = async (): Promise<void> => {
      isListening = false;
      void runHooks();
      await closing.stopListening(areOthers);
    };
    if (by.spread > 0 && !isForced) {
      // Hooks may say goodbye on these connections. Handlers may end them all at once, so they get the signal later.
      await untilSettled(runHooks(), by.spread / 2);
      closing.beginLasting(Math.min(by.spread, by.kill - by.reserve - clock.now()));
      await closing.endLasting();
    }
    const isInFlight = (): boolean => evidence.requestsInFlight + evidence.leases > 0;
    if (areOthers && isCapped) {
      // Handlers may end the process at once.
      await stopListening();
      await closing.untilIdle(isInFlight, by.others);
    }
    if (areOthers) {
      await others.areDue(by.others);
      servers.beforeHandlers();
    }
    this.#owner.letOthers();
    if (areOthers) {
      endSpan();
      others.pass(hooks.has("closed"));
      // Where the process goes on, somebody waits for the end of ours.
      const turn = this.#owner.exits() ? by.cap : Math.min(by.cap, clock.now() + shortTurnMs);
      if (isListening) await others.closeThemselves(servers.listeners, isInFlight, turn);
    }
    if (isListening) await stopListening();
    const isBusy = (): boolean => evidence.leases > 0;
    const until = others.limit(by.requests, settings.isPod);
    await closing.drain(settings.drain.requestQuiet, isBusy, closingHooks ?? lameDuckHooks, until, {
      holds: settings.holds,
      isHandled: areOthers,
    });
    await this.#runClosedHooks(by);
  }

  async #runClosedHooks(by: Deadlines): Promise<void> {
    const { hooks, endSpan } = this.#parts;
    this.#owner.enter("closed");
    if (hooks.has("closed")) endSpan();
    await hooks.run("closed", by.hooks);
  }

  /** Null where the process goes on, until the program ends it. */
  #exitCode(): number | null {
    const { others } = this.#parts;
    if (!this.#owner.exits()) return null;
    return others.exitCode ?? (others.exist ? null : Number(process.exitCode ?? 0));
  }

  /** The lame-duck phase. */
  async #serveOn(
    events: TerminationEvents,
    reason: string,
    {
      by,
      heldBefore,
      isCrash,
    }: {
      readonly by: Deadlines;
      readonly heldBefore: HeldBefore | undefined;
      readonly isCrash: boolean;
    },
  ): Promise<Held> {
    const { clock, announcer, servers, evidence, hold, hooks: allHooks } = this.#parts;
    const { recording, coordinator, holder, closing } = this.#parts;
    const { cap: capAt, spread } = by;
    this.#owner.enter("lame-duck");
    holder?.begin();
    let convergedAt: number | undefined;
    const from = clock.now();
    const holding = hold.run(capAt, {
      isSecond: heldBefore?.isOver === true,
      // The few turns that a crash leaves may be over before anybody else asks for the end.
      isAsked: () => isCrash || holder?.isAsked() === true,
      converged: () => {
        convergedAt ??= clock.now();
        // A long answer in flight is no reason to keep the others until the end.
        if (spread > 0) closing.beginLasting(spread);
      },
    });
    const begun = events.lameDuck(reason, evidence.requestsInFlight, servers.open);
    void announcer.phase(begun);
    const hooks = allHooks.run("lame-duck", capAt);
    // A process that does not listen (yet, or any more) has nothing to wait for.
    if (!servers.areListening && servers.open + evidence.leases === 0) hold.force();
    else coordinator?.begin(reportAtBegin(begun));
    const end = await holding;
    holder?.end();
    this.#owner.held(end);
    const stopped = events.closing(clock.now(), end, servers.open);
    // Leases are the program's own work, or its workers.
    if (end.reason === "cap" && evidence.requestsInFlight > 0 && convergedAt !== undefined)
      this.#tellTooLong(evidence.requestsInFlight, convergedAt - from, by);
    void announcer.phase(stopped);
    coordinator?.report(reportAtStop(stopped));
    // What comes next may exit at once, as handlers of the application do.
    if (recording) await untilSettled(recording.written, longestWriteMs);
    this.#owner.close(end);
    return { hooks, isCapped: end.reason === "cap", isForced: end.reason === "forced" };
  }

  /** Only the program knows how long its answers take; all else that the grace period must have room for is known here. */
  #tellTooLong(inFlight: number, converged: number, { reserve }: Deadlines): void {
    const { settings, announcer } = this.#parts;
    const { prestop } = settings.drain;
    const rounded = (time: number): string => formatDuration(Math.ceil(time / 1_000) * 1_000);
    const parts = [
      ...(prestop > 0 ? [`${formatDuration(prestop)} preStop`] : []),
      `${rounded(converged)} until the senders had stopped sending`,
      `${formatDuration(Math.round(reserve))} reserve`,
    ];
    announcer.notice(
      "cap",
      `requests still in flight at the cap: ${inFlight}; for answers that take T the grace period must be T + ${rounded(prestop + converged + reserve)} (${parts.join(", ")})`,
    );
  }

  /** One of init, hook and library holds. */
  #heldBefore(): HeldBefore | undefined {
    const { settings, announcer, holder } = this.#parts;
    const { drain, deadline } = settings;
    const held = holder?.before(deadline + drain.prestop, drain.cap);
    if (held?.isOver === true)
      announcer.notice(
        "signal",
        `lameduck-init (${held.program}) began to hold ${formatDuration(Math.round(held.spent / 100) * 100)} ago: there is no second hold`,
      );
    return held;
  }

  /** An application that exits by itself ends the termination, too. */
  #reportExit(events: TerminationEvents): () => void {
    const { clock, announcer, servers, hooks } = this.#parts;
    return signalGate().atExit((code) => {
      const outcomes = [...hooks.outcomes, ...hooks.unfinished("closed")];
      void announcer.phase(
        events.exited(clock.now(), { cut: servers.cut(), lasting: servers.ended }, outcomes, code),
      );
    });
  }
}

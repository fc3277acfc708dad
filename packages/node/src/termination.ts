import { messageOf } from "@lameduck/drain/common";
import { untilSettled, type Clock } from "./clock.ts";
import type { Closing } from "./closing/closing.ts";
import { deadlinesOf } from "./closing/deadlines.ts";
import type { Hooks } from "./closing/hooks.ts";
import type { StopFile } from "./closing/stop-file.ts";
import type { Coordinator } from "./coordinator/coordinator.ts";
import { reportAtBegin, reportAtEnd, reportAtStop } from "./coordinator/report.ts";
import type { ClosedEvent, Phase } from "./events.ts";
import type { Evidence } from "./hold/evidence.ts";
import type { Hold, HoldEnd } from "./hold/hold.ts";
import type { Settings } from "./options/settings.ts";
import type { Announcer } from "./reports/announce.ts";
import type { Recording } from "./reports/recording.ts";
import { Report } from "./reports/report.ts";
import type { ServerWatch } from "./servers/traffic.ts";
import { surviveCrashes } from "./signals/crashes.ts";
import type { OtherHandlers } from "./signals/other-handlers.ts";
import { signalGate } from "./signals/signals.ts";

/** Milliseconds that a slow disk may take for the last of a recording. */
const longestWrite = 250;

/** What a termination works with. */
export interface Parts {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly announcer: Announcer;
  readonly watches: ReadonlySet<ServerWatch>;
  readonly evidence: Evidence;
  readonly hold: Hold;
  readonly closing: Closing;
  readonly hooks: Hooks;
  readonly others: OtherHandlers;
  readonly stopFile: StopFile | undefined;
  readonly recording: Recording | undefined;
  readonly coordinator: Coordinator | undefined;
}

/** Whoever is terminated. */
export interface Owner {
  /** Whether the process ends with it: this may change until the end. */
  readonly exits: () => boolean;
  readonly enter: (phase: Phase) => void;
  readonly held: (end: HoldEnd) => void;
  /** Closing begins, and what the hold has said is on its way. */
  readonly close: (end: HoldEnd) => void;
  readonly end: (exitCode: number | null) => void;
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
    const { settings, clock, announcer, watches, evidence, closing, hooks, others } = this.#parts;
    const { stopFile, recording, coordinator } = this.#parts;
    const from = clock.now();
    const by = deadlinesOf(settings, { from, late, isCrash, hasClosedHooks: hooks.has("closed") });
    const report = new Report(settings, from, by);
    stopFile?.begin(reason, by.kill - from);
    const cap = Math.min(settings.drain.cap, Math.max(1, by.cap - from));
    recording?.begin(reason, { ...settings.drain, cap });
    const onExit = this.#reportExit(report);
    const noLongerSurvive = surviveCrashes((message) => announcer.notice("crash", message));
    try {
      const { hooks: lameDuckHooks } = await this.#serveOn(report, reason, by.cap);
      const listeners = new Set([...watches].flatMap((watch) => watch.listeners));
      for (const watch of watches) watch.beforeHandlers();
      const isHandled = settings.signals.some((name) => signalGate().others(name).length > 0);
      await others.closeThemselves(signalGate(), listeners, () => this.#isListening(), by.cap);
      const closingHooks = lameDuckHooks.then(() => hooks.run("closing", by.requests));
      await closing.stopListening();
      const isBusy = (): boolean => evidence.leases > 0;
      const { holds, drain } = settings;
      await closing.drain(drain.requestQuiet, isBusy, closingHooks, by.requests, { holds, isHandled });
      this.#owner.enter("closed");
      await hooks.run("closed", by.hooks);
    } catch (error) {
      // Whatever goes wrong, the process must end in order and say so.
      announcer.notice("internal", messageOf(error));
    }
    const cut = closing.cut();
    if (this.#owner.exits()) await others.untilDone(by.hooks);
    others.end();
    this.#owner.enter("closed");
    process.removeListener("exit", onExit);
    const exitCode = this.#owner.exits() ? Number(process.exitCode ?? 0) : null;
    const closed = report.closed(clock.now(), cut, hooks.outcomes, exitCode);
    const left = by.hooks - clock.now();
    const reported = [
      announcer.phase(closed),
      recording?.written ?? Promise.resolve(),
      coordinator?.end(reportAtEnd(closed), left) ?? Promise.resolve(),
    ];
    await untilSettled(Promise.all(reported), left);
    noLongerSurvive();
    this.#owner.end(exitCode);
    return closed;
  }

  /** The lame-duck phase. @returns its hooks, which may outlast it. */
  async #serveOn(report: Report, reason: string, capAt: number): Promise<{ hooks: Promise<void> }> {
    const { clock, announcer, evidence, hold, hooks: allHooks, recording, coordinator } = this.#parts;
    this.#owner.enter("lame-duck");
    const holding = hold.run(capAt);
    const begun = report.lameDuck(reason, evidence.requestsInFlight, this.#open());
    void announcer.phase(begun);
    const hooks = allHooks.run("lame-duck", capAt);
    // A process that does not listen (yet, or any more) has nothing to wait for.
    if (!this.#isListening() && this.#open() + evidence.leases === 0) hold.force();
    else coordinator?.begin(reportAtBegin(begun));
    const end = await holding;
    this.#owner.held(end);
    const stopped = report.closing(clock.now(), end, this.#open());
    void announcer.phase(stopped);
    coordinator?.report(reportAtStop(stopped, end.lesson));
    // What comes next may exit at once, as handlers of the application do.
    if (recording) await untilSettled(recording.written, longestWrite);
    this.#owner.close(end);
    return { hooks };
  }

  /** An application that exits by itself ends the termination, too. */
  #reportExit(report: Report): (code: number) => void {
    const { clock, announcer, closing, hooks } = this.#parts;
    const onExit = (code: number): void => {
      void announcer.phase(report.exited(clock.now(), closing.cut(), hooks.outcomes, code));
    };
    process.once("exit", onExit);
    return onExit;
  }

  #open(): number {
    return openOf(this.#parts.watches);
  }

  #isListening(): boolean {
    for (const watch of this.#parts.watches) if (watch.listening) return true;
    return false;
  }
}

/** Connections that are open now. */
export function openOf(watches: ReadonlySet<ServerWatch>): number {
  let open = 0;
  for (const watch of watches) open += watch.open;
  return open;
}

import { messageOf } from "@lameduck/drain/common";
import { Announcer, type LameduckEvents } from "./reports/announce.ts";
import { systemClock, untilSettled, type Clock } from "./clock.ts";
import { Coordinator } from "./coordinator/coordinator.ts";
import { saidAtBegin, saidAtEnd, saidAtStop } from "./coordinator/said.ts";
import { Closing } from "./closing/closing.ts";
import { deadlinesOf } from "./closing/deadlines.ts";
import { passOnToWorkers } from "./signals/cluster.ts";
import { closeOnCrash, surviveCrashes } from "./signals/crashes.ts";
import { mistake } from "./errors.ts";
import type { ClosedEvent, Phase } from "./events.ts";
import { Evidence } from "./hold/evidence.ts";
import { Hold } from "./hold/hold.ts";
import { Hooks, type HookFunction, type HookOptions, type HookPhase } from "./closing/hooks.ts";
import { makeLog } from "./reports/log.ts";
import { addMetrics, type MetricsModule } from "./reports/metrics.ts";
import { Pulse } from "./signals/pulse.ts";
import { readinessIn, type Readiness } from "./hold/readiness.ts";
import { Recording } from "./reports/recording.ts";
import { heldFor, Report } from "./reports/report.ts";
import { watchServer, type WatchedServer } from "./servers/servers.ts";
import { parseSettings, type LameduckOptions, type Settings } from "./options/settings.ts";
import { rememberSignal, type EarlySignal } from "./signals/signal-list.ts";
import { signalGate, type SignalMember } from "./signals/signals.ts";
import { OtherHandlers } from "./signals/other-handlers.ts";
import { StopFile } from "./closing/stop-file.ts";
import { traceTermination } from "./reports/tracing.ts";
import type { ServerWatch } from "./servers/traffic.ts";
import { isNews } from "./options/doubts.ts";
import type { State } from "./observed.ts";

/** Whether code named the servers, or they are found as they listen and given up to code that names them. */
export type Manner = "named" | "found";

/** Milliseconds that a slow disk may take for the last of a recording. */
const longestWrite = 250;

/** One process's way from serving to closed, for one or several servers. */
export class Lameduck {
  readonly #settings: Settings;
  readonly #clock: Clock = systemClock;
  readonly #announcer: Announcer;
  readonly #watches = new Set<ServerWatch>();
  readonly #evidence: Evidence;
  readonly #hold: Hold;
  readonly #closing: Closing;
  readonly #hooks: Hooks;
  readonly #others: OtherHandlers;
  readonly #pulse: Pulse;
  readonly #stopFile: StopFile | undefined;
  readonly #recording: Recording | undefined;
  readonly #coordinator: Coordinator | undefined;
  readonly #abort = new AbortController();
  readonly #member: SignalMember;
  readonly #manner: Manner;
  readonly #early: EarlySignal | undefined;
  #phase: Phase = "serving";
  #holds: boolean;
  #exits: boolean;
  /** A signal or a crash ends the process. */
  #isSignalled = false;
  readonly #heard = new Set<NodeJS.Signals>();
  #interrupts = 0;
  #leaveCrashes: (() => void) | undefined;
  #lesson: readonly number[] | undefined;
  #closed: Promise<ClosedEvent> | undefined;
  #untilClosed: Promise<ClosedEvent> | undefined;
  readonly #atDetach: (() => void)[] = [];

  constructor(servers: readonly unknown[], options: LameduckOptions = {}, manner: Manner = "named") {
    this.#manner = manner;
    const settings = parseSettings(options);
    this.#settings = settings;
    this.#announcer = new Announcer(makeLog(settings.log));
    if (settings.trace !== undefined)
      this.#recording = new Recording(settings.trace, (problem) => this.#announcer.notice("trace", problem));
    this.#evidence = new Evidence(
      settings.drain,
      this.#clock,
      () => this.#hold.reconsider(),
      this.#recording,
    );
    if (settings.coordinator)
      this.#coordinator = new Coordinator(settings.coordinator, this.#evidence, this.#clock, (message) =>
        this.#announcer.notice("coordinator", message),
      );
    this.#hold = new Hold(this.#evidence, this.#watches, this.#clock, settings, this.#recording);
    this.#closing = new Closing(this.#watches, this.#clock, (problem) =>
      this.#announcer.notice("internal", problem),
    );
    this.#hooks = new Hooks(this.#clock, (problem) => this.#announcer.notice("hook", problem));
    this.#others = new OtherHandlers(this.#clock, (message) => this.#announcer.notice("handlers", message));
    this.#pulse = new Pulse(this.#clock);
    if (settings.stopFile !== undefined)
      this.#stopFile = new StopFile(settings.stopFile, (message) =>
        this.#announcer.notice("killed", message),
      );
    this.#holds = settings.otherHandlers === "hold";
    this.#exits = settings.exit;
    this.#member = {
      // A developer's Ctrl-C is listened for wherever a signal is.
      signals: settings.signals.length > 0 ? [...new Set([...settings.signals, "SIGINT" as const])] : [],
      signal: (name) => this.#signalled(name),
      holds: (name) => this.#holds && !this.#isLeftToOthers(name),
      processEnds: () => {
        if (!this.#closed) void this.stop("the process ends");
      },
    };
    if (manner === "found" && process.pid === 1) this.#early = rememberSignal(settings.signals);
    for (const server of servers) this.add(server as WatchedServer);
    traceTermination(this);
    // Who only may find servers later leaves signals alone until then: the process may be none of our business.
    if (manner === "named") this.#engage();
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** Aborts when closing begins: for background work that should end then. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Resolves when everything is closed. With `exit`, the process is gone by then. */
  get closed(): Promise<ClosedEvent> {
    this.#untilClosed ??= new Promise((resolve) => this.#announcer.once("closed", resolve));
    return this.#closed ?? this.#untilClosed;
  }

  state(): State {
    let open = 0;
    for (const watch of this.#watches) open += watch.open;
    const hold = this.#hold;
    return {
      phase: this.#phase,
      inFlight: this.#evidence.requestsInFlight,
      leases: this.#evidence.leases,
      open,
      servers: this.#watches.size,
      // Every sender is weighed for it, and metrics never ask.
      get hold() {
        return heldFor(hold.course());
      },
      acknowledgements: this.#coordinator?.known,
    };
  }

  /** For a health route of the application's own. */
  readiness(): Readiness {
    return readinessIn(this.#phase, this.#settings.health !== undefined);
  }

  /** One more server under the same decision. @throws {LameduckError} */
  add(server: WatchedServer): this {
    if (this.#phase === "closing" || this.#phase === "closed")
      throw mistake("LAMEDUCK_TERMINATING", "add", `the phase is ${this.#phase}`);
    const giveUp = (watch: ServerWatch, isClosed: boolean): void => this.#giveUp(watch, isClosed);
    const { isProbe, isStream, health } = this.#settings;
    const now = (): number => this.#clock.now();
    const context = { traffic: this.#evidence, isProbe, isStream, health, now, random: Math.random };
    const watch = watchServer(server, context, this.#manner === "found" ? giveUp : undefined);
    this.#watches.add(watch);
    if (this.#phase === "lame-duck") watch.hold();
    if (this.#manner === "found") {
      this.#engage();
      const signal = this.#early?.();
      if (signal) void this.terminate(signal.name, signal.late);
    }
    return this;
  }

  /** Workers of node:cluster: SIGTERM is passed on to them, and they are waited for. Call it in the primary. */
  addWorkers(): this {
    passOnToWorkers(this);
    this.#engage();
    return this;
  }

  /** Gauges in a registry of the application's: pass the module prom-client or @prometheus-io/client. */
  metrics(module: MetricsModule, registers?: readonly unknown[]): this {
    addMetrics(this, module, registers);
    return this;
  }

  /** There is something to stop: from here on the process is our business. */
  #engage(): void {
    this.#stopFile?.read();
    for (const warning of this.#settings.warnings)
      if (isNews(warning)) this.#announcer.notice("settings", warning);
    if (this.#settings.crashes === "close")
      this.#leaveCrashes ??= closeOnCrash((message) => this.#crashed(message));
    if (this.#settings.signals.length === 0 && !this.#exits) return;
    signalGate().join(this.#member);
    if (this.#settings.signals.length > 0) this.#pulse.start();
  }

  #leaveSignals(): void {
    this.#leaveCrashes?.();
    this.#leaveCrashes = undefined;
    signalGate().leave(this.#member);
    this.#pulse.stop();
  }

  #giveUp(watch: ServerWatch, isClosed: boolean): void {
    // A server closes in a termination, too; its connections are still counted then.
    if (isClosed && this.#phase !== "serving") return;
    this.#watches.delete(watch);
    watch.detach();
    if (this.#watches.size === 0) this.#leaveSignals();
  }

  /** Work that must be done belongs into a hook. A promise that a listener returns is waited for at `closed`, the last event, alone. */
  on<E extends keyof LameduckEvents>(event: E, listener: (...args: LameduckEvents[E]) => unknown): this {
    this.#announcer.listen(event, listener);
    return this;
  }

  /** Something to be done in a phase: see HookOptions for order and time. */
  hook(phase: HookPhase, name: string, run: HookFunction, options?: HookOptions): this {
    this.#hooks.add(phase, name, run, options);
    return this;
  }

  /** Work that is no request (a job taken from a queue) but is to be finished like one. `using lease = duck.busy()` */
  busy(): Disposable {
    return this.#evidence.lease();
  }

  /** Policy `acknowledged`: a consumer no longer chooses this pod. */
  acknowledge(consumer: string): void {
    this.#evidence.acknowledge(consumer);
  }

  /**
   * From the end of the hold on: what it said of the environment, to be added by `learn()` to what is passed to the next pods as
   * `learnt`. Undefined before, and where nothing was seen.
   */
  lesson(): readonly number[] | undefined {
    return this.#lesson;
  }

  /**
   * What SIGTERM does. Calling it again changes nothing.
   * @param late how long ago the signal was sent, in milliseconds: the deadline is counted from then.
   */
  terminate(reason = "terminate()", late = 0): Promise<ClosedEvent> {
    this.#closed ??= this.#run(reason, late);
    return this.#closed;
  }

  /** Ends the hold now and closes; in flight still finishes. */
  stop(reason = "stop()"): Promise<ClosedEvent> {
    const closed = this.terminate(reason);
    this.#hold.force();
    return closed;
  }

  /** As stop(), but the process goes on. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#closed) this.#exits = false;
    await this.stop("disposed");
  }

  /** For what was done on its behalf elsewhere, and is to be taken back with it. */
  atDetach(undo: () => void): void {
    this.#atDetach.push(undo);
  }

  /** Takes everything back, as if never called. */
  detach(): void {
    for (const undo of this.#atDetach.splice(0)) undo();
    this.#leaveSignals();
    for (const watch of this.#watches) watch.detach();
    this.#watches.clear();
  }

  #signalled(name: NodeJS.Signals): void {
    if (this.#isLeftToOthers(name)) return;
    this.#isSignalled = true;
    const heard = this.#heard.has(name) ? `${name} again` : name;
    this.#heard.add(name);
    if (!this.#settings.signals.includes(name)) this.#interrupted(name);
    else if (this.#closed)
      this.#announcer.notice("signal", `${heard}, during ${this.#phase}: changes nothing`);
    else void this.terminate(name, this.#pulse.lateness());
  }

  /** A developer's Ctrl-C is no deletion: nobody is still to learn of it. The second one is impatience. */
  #interrupted(name: NodeJS.Signals): void {
    this.#interrupts++;
    if (this.#interrupts > 1 && this.#exits) process.exit(130);
    void this.stop(name);
  }

  /** A process in doubt serves nobody new; what is in flight gets the reserve. */
  #crashed(message: string): void {
    // Without a listener of ours Node would have printed it.
    if (this.#settings.log === false) process.stderr.write(`${message}\n`);
    this.#announcer.notice("crash", message);
    this.#isSignalled = true;
    this.#closed ??= this.#run("crash", 0, true);
    this.#hold.force();
    signalGate().endAll();
  }

  /** An application that knows nothing of us does with Ctrl-C what it likes. */
  #isLeftToOthers(name: NodeJS.Signals): boolean {
    const isTermination = this.#settings.signals.includes(name);
    return this.#manner === "found" && !isTermination && signalGate().others(name).length > 0;
  }

  async #run(reason: string, late: number, isCrash = false): Promise<ClosedEvent> {
    const from = this.#clock.now();
    const hasClosedHooks = this.#hooks.has("closed");
    const by = deadlinesOf(this.#settings, { from, late, isCrash, hasClosedHooks });
    signalGate().join(this.#member);
    const report = new Report(this.#settings, from, by);
    this.#stopFile?.begin(reason, by.kill - from);
    const { drain } = this.#settings;
    const cap = Math.min(drain.cap, Math.max(1, by.cap - from));
    this.#recording?.begin(reason, { ...drain, cap }, this.#evidence.drain.key);
    const onExit = this.#reportExit(report);
    this.#leaveCrashes?.();
    const noLongerSurvive = surviveCrashes((message) => this.#announcer.notice("crash", message));
    try {
      const { hooks: lameDuckHooks } = await this.#serveOn(report, reason, by.cap);
      const listeners = new Set([...this.#watches].flatMap((watch) => watch.listeners));
      await this.#others.closeThemselves(signalGate(), listeners, () => this.#isListening(), by.cap);
      const closingHooks = lameDuckHooks.then(() => this.#hooks.run("closing", by.requests));
      const { requestQuiet } = this.#settings.drain;
      await this.#closing.stopListening();
      const isBusy = (): boolean => this.#evidence.leases > 0;
      await this.#closing.drain(requestQuiet, isBusy, closingHooks, by.requests);
      this.#phase = "closed";
      await this.#hooks.run("closed", by.hooks);
    } catch (error) {
      // Whatever goes wrong, the process must end in order and say so.
      this.#announcer.notice("internal", messageOf(error));
    }
    const cut = this.#closing.cut();
    if (this.#exits) await this.#others.untilDone(by.hooks);
    this.#others.end();
    this.#phase = "closed";
    process.removeListener("exit", onExit);
    const exitCode = this.#exits ? Number(process.exitCode ?? 0) : null;
    const closed = report.closed(this.#clock.now(), cut, this.#hooks.outcomes, exitCode);
    const left = by.hooks - this.#clock.now();
    const told = [
      this.#announcer.phase(closed),
      this.#recording?.written ?? Promise.resolve(),
      this.#coordinator?.end(saidAtEnd(closed), left) ?? Promise.resolve(),
    ];
    await untilSettled(Promise.all(told), left);
    noLongerSurvive();
    this.#end(exitCode);
    return closed;
  }

  /** The lame-duck phase. @returns its hooks, which may outlast it. */
  async #serveOn(report: Report, reason: string, capAt: number): Promise<{ hooks: Promise<void> }> {
    this.#phase = "lame-duck";
    const holding = this.#hold.run(capAt);
    const begun = report.lameDuck(reason, this.#evidence.requestsInFlight, this.state().open);
    void this.#announcer.phase(begun);
    const hooks = this.#hooks.run("lame-duck", capAt);
    // A process that does not listen (yet, or any more) has nothing to wait for.
    const { open, leases } = this.state();
    if (!this.#isListening() && open + leases === 0) this.#hold.force();
    else this.#coordinator?.begin(saidAtBegin(begun));
    const end = await holding;
    this.#phase = "closing";
    this.#lesson = end.lesson;
    this.#holds = false;
    const stopped = report.closing(this.#clock.now(), end, this.state().open);
    void this.#announcer.phase(stopped);
    this.#coordinator?.tell(saidAtStop(stopped, end.lesson));
    // What comes next may exit at once, as handlers of the application do.
    if (this.#recording) await untilSettled(this.#recording.written, longestWrite);
    this.#abort.abort(new Error(`lameduck: closing (${end.reason})`));
    return { hooks };
  }

  #end(exitCode: number | null): void {
    this.detach();
    if (exitCode === null) {
      this.#stopFile?.end();
      signalGate().exitIfOwed();
    } else signalGate().exitWhenLast(exitCode, this.#isSignalled);
  }

  /** An application that exits by itself ends the story, too. */
  #reportExit(report: Report): (code: number) => void {
    const onExit = (code: number): void => {
      const cut = this.#closing.cut();
      void this.#announcer.phase(report.exited(this.#clock.now(), cut, this.#hooks.outcomes, code));
    };
    process.once("exit", onExit);
    return onExit;
  }

  #isListening(): boolean {
    for (const watch of this.#watches) if (watch.listening) return true;
    return false;
  }
}

import { longestHold } from "@lameduck/drain";
import { Announcer } from "./reports/announce.ts";
import { systemClock, type Clock } from "./clock.ts";
import { Coordinator } from "./coordinator/coordinator.ts";
import { Closing } from "./closing/closing.ts";
import { passOnToWorkers } from "./signals/cluster.ts";
import { mistake } from "./errors.ts";
import type { ClosedEvent, LameduckEvents, Phase } from "./events.ts";
import { Evidence } from "./hold/evidence.ts";
import { Hold, type HoldEnd } from "./hold/hold.ts";
import { Holder } from "./hold/holders.ts";
import { Hooks, type HookFunction, type HookOptions, type HookPhase } from "./closing/hooks.ts";
import { makeLog } from "./reports/log.ts";
import { addMetrics, type MetricsModule } from "./reports/metrics.ts";
import { readinessIn, type Readiness } from "./servers/health.ts";
import { Recording } from "./hold/recording.ts";
import { explained } from "./reports/termination-events.ts";
import { otherRuntime } from "./options/environment.ts";
import { Servers, type WatchedServer } from "./servers/servers.ts";
import type { LameduckOptions } from "./options/lameduck-options.ts";
import { parseSettings, type Settings } from "./options/settings.ts";
import { ProcessSignals, type Manner, type Terminated } from "./signals/process-signals.ts";
import { OtherHandlers } from "./signals/other-handlers.ts";
import { tellChildren, tellOfHold } from "./signals/helpers.ts";
import { isTestRun } from "./signals/test-run.ts";
import { Termination } from "./termination.ts";
import { traceTermination } from "./reports/tracing.ts";
import type { State } from "./observed.ts";

/** One process's way from serving to closed, for one or several servers. */
export class Lameduck {
  readonly #settings: Settings;
  readonly #clock: Clock = systemClock;
  readonly #announcer: Announcer;
  readonly #servers: Servers;
  readonly #evidence: Evidence;
  readonly #hold: Hold;
  readonly #closing: Closing;
  readonly #hooks: Hooks;
  readonly #others: OtherHandlers;
  readonly #endSpan: () => void;
  readonly #recording: Recording | undefined;
  readonly #coordinator: Coordinator | undefined;
  readonly #holder: Holder | undefined;
  readonly #abort = new AbortController();
  readonly #signals: ProcessSignals;
  readonly #manner: Manner;
  #phase: Phase = "serving";
  #exits: boolean;
  #priorUpdate: readonly number[] | undefined;
  #closed: Promise<ClosedEvent> | undefined;
  #untilClosed: Promise<ClosedEvent> | undefined;
  readonly #atDetach: (() => void)[] = [];
  readonly #runtime = otherRuntime();
  #atHoldEnd = (): void => {};

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
    if (this.#coordinator) this.#coordinator.onEnd = () => this.#hold.force();
    this.#servers = this.#serversOf(settings);
    this.#hold = new Hold(this.#evidence, this.#servers, this.#clock, settings);
    this.#closing = new Closing(this.#servers, this.#clock);
    this.#hooks = new Hooks(this.#clock, (problem) => this.#announcer.notice("hook", problem));
    this.#others = new OtherHandlers(this.#clock, (message) => this.#announcer.notice("handlers", message));
    if (settings.pod) this.#holder = new Holder(settings.signals, longestHold(settings.drain), settings.pod);
    this.#exits = settings.exit;
    this.#signals = this.#signalsOf(settings);
    const unsupported = `${this.#runtime} is not supported: it runs as without Lameduck`;
    if (this.#runtime !== undefined) this.#announcer.warn("runtime", unsupported);
    for (const server of servers) this.add(server as WatchedServer);
    this.#endSpan = traceTermination(this);
    // Until a server is found, signals are left alone: the process may not serve at all.
    if (manner === "named") this.#engage();
    else tellChildren();
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
    const hold = this.#hold;
    return {
      phase: this.#phase,
      inFlight: this.#evidence.requestsInFlight,
      leases: this.#evidence.leases,
      open: this.#servers.open,
      servers: this.#servers.size,
      // Every sender is weighed for it, and metrics never ask.
      get hold() {
        const timeline = hold.timeline();
        return timeline && explained(timeline);
      },
      acknowledgements: this.#coordinator?.acknowledgements,
    };
  }

  /** For a health route of the application's own. */
  readiness(): Readiness {
    const learnsByHealth = this.#settings.health !== undefined || this.#coordinator?.isUndeleted === true;
    return readinessIn(this.#phase, learnsByHealth);
  }

  /** One more server under the same decision. @throws {LameduckError} */
  add(server: WatchedServer): this {
    if (this.#runtime !== undefined) return this;
    if (this.#phase === "closing" || this.#phase === "closed")
      throw mistake("LAMEDUCK_TERMINATING", "add", `the phase is ${this.#phase}`);
    this.#servers.add(server, this.#manner === "found");
    if (this.#manner === "found") {
      this.#engage();
      this.#signals.catchUp();
    }
    return this;
  }

  /** Workers of node:cluster: SIGTERM is passed on to them, and they are waited for. Call it in the primary. */
  addWorkers(): this {
    this.atDetach(passOnToWorkers(this));
    this.#engage();
    return this;
  }

  /** Gauges in a registry of the application's: pass the module prom-client or @prometheus-io/client. */
  metrics(module: MetricsModule, registers?: readonly unknown[]): this {
    addMetrics(this, module, registers);
    return this;
  }

  /** There is something to stop: from here on signals and crashes are handled. */
  #engage(): void {
    if (this.#runtime !== undefined) return;
    for (const warning of this.#settings.warnings) this.#announcer.warn("settings", warning);
    this.#signals.engage();
    this.#holder?.announce();
  }

  #serversOf({ isProbe, isStream, health, holds, spread }: Settings): Servers {
    const now = (): number => this.#clock.now();
    const seen = { traffic: this.#evidence, isProbe, isStream, health, holds, spreads: spread > 0 };
    const settings = { ...seen, now, random: Math.random };
    const failed = (problem: string): void => this.#announcer.notice("internal", problem);
    return new Servers(settings, failed, () => this.#leave());
  }

  /** Signals are no longer handled. */
  #leave(): void {
    this.#signals.leave();
    this.#holder?.leave();
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
    return this.#evidence.trackWork();
  }

  /**
   * From the end of the hold on: what it said of the environment, to be added by `learn()` to what is passed to the next pods as
   * `learnt`. Undefined before, and where nothing was seen.
   */
  lesson(): readonly number[] | undefined {
    return this.#priorUpdate;
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

  /** Adds something that detach() has to undo. */
  atDetach(undo: () => void): void {
    this.#atDetach.push(undo);
  }

  /** Takes everything back, as if never called. */
  detach(): void {
    for (const undo of this.#atDetach.splice(0)) undo();
    this.#leave();
    this.#servers.detach();
  }

  #signalsOf(settings: Settings): ProcessSignals {
    const terminated: Terminated = {
      phase: () => this.#phase,
      isTerminating: () => this.#closed !== undefined,
      exits: () => this.#endsProcess(),
      terminate: (reason, late) => void this.terminate(reason, late),
      stop: (reason) => void this.stop(reason),
      listeners: () => this.#servers.listeners,
      crash: () => {
        this.#closed ??= this.#run("crash", 0, true);
        this.#hold.force();
      },
    };
    return new ProcessSignals(settings, this.#manner, this.#announcer, this.#clock, terminated);
  }

  #run(reason: string, late: number, isCrash = false): Promise<ClosedEvent> {
    const parts = {
      settings: this.#settings,
      clock: this.#clock,
      announcer: this.#announcer,
      servers: this.#servers,
      evidence: this.#evidence,
      hold: this.#hold,
      closing: this.#closing,
      hooks: this.#hooks,
      others: this.#others,
      endSpan: this.#endSpan,
      recording: this.#recording,
      coordinator: this.#coordinator,
      holder: this.#holder,
    };
    const owner = {
      exits: () => this.#endsProcess(),
      enter: (phase: Phase) => this.#enter(phase),
      held: (end: HoldEnd) => this.#held(end),
      close: ({ reason: why }: HoldEnd) => this.#abort.abort(new Error(`lameduck: closing (${why})`)),
      letOthers: () => this.#signals.letOthers(),
      end: (exitCode: number | null, until: number | undefined) => this.#end(exitCode, until),
    };
    this.#signals.begin();
    return new Termination(parts, owner).run(reason, late, isCrash);
  }

  /** A test that calls terminate() is to go on: the process belongs to its runner. */
  #endsProcess(): boolean {
    return this.#exits && (this.#signals.isSignalled || !isTestRun());
  }

  #enter(phase: Phase): void {
    if (phase === "lame-duck") this.#atHoldEnd = tellOfHold();
    this.#phase = phase;
  }

  #held(end: HoldEnd): void {
    this.#atHoldEnd();
    this.#phase = "closing";
    this.#priorUpdate = end.priorUpdate;
  }

  #end(exitCode: number | null, until: number | undefined): void {
    this.detach();
    this.#others.letExit();
    const goesOn = !this.#endsProcess();
    if (this.#exits && goesOn)
      this.#announcer.notice("test", "a test runner runs this process: it goes on, as with exit: false");
    this.#signals.end(goesOn ? undefined : () => this.#others.end(exitCode, until));
  }
}

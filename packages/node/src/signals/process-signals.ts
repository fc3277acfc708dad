import cluster from "node:cluster";
import type { Server as NetServer } from "node:net";
import type { Clock } from "../clock.ts";
import type { Phase } from "../events.ts";
import type { Settings } from "../options/settings.ts";
import type { Announcer } from "../reports/announce.ts";
import { closeOnCrash, tellCrash } from "./crashes.ts";
import { doesParentHold, isHelper } from "./helpers.ts";
import { LoopHeartbeat } from "./loop-heartbeat.ts";
import { signalGate, type SignalMember } from "./signals.ts";

/** Whether code named the servers, or they are found as they listen and given up to code that names them. */
export type Manner = "named" | "found";

/** How often a helper looks whether its parent needs it. Both may get the signal at once. */
const askPeriodMs = 100;

/** What signals and crashes do to a process. */
export interface Terminated {
  phase(): Phase;
  /** Whether its termination has begun. */
  isTerminating(): boolean;
  /** Whether its end ends the process. */
  exits(): boolean;
  terminate(reason: string, late: number): void;
  stop(reason: string): void;
  listeners(): readonly NetServer[];
  /** A process in doubt serves nobody new; what is in flight gets the reserve. */
  crash(): void;
}

/** Signals and crashes of the process, on behalf of one termination: what each does, and when the process ends. */
export class ProcessSignals {
  readonly #settings: Settings;
  readonly #manner: Manner;
  readonly #announcer: Announcer;
  readonly #terminated: Terminated;
  readonly #heartbeat: LoopHeartbeat;
  readonly #member: SignalMember;
  readonly #early: EarlySignal | undefined;
  readonly #received = new Set<NodeJS.Signals>();
  #holds: boolean;
  #isSignalled = false;
  #interrupts = 0;
  /** It serves its parent alone. */
  #isHelping = false;
  #leaveCrashes: (() => void) | undefined;

  constructor(
    settings: Settings,
    manner: Manner,
    announcer: Announcer,
    clock: Clock,
    terminated: Terminated,
  ) {
    this.#settings = settings;
    this.#manner = manner;
    this.#announcer = announcer;
    this.#terminated = terminated;
    this.#heartbeat = new LoopHeartbeat(clock);
    this.#holds = settings.otherHandlers === "hold";
    this.#member = {
      // A developer's Ctrl-C is listened for wherever a signal is.
      signals: settings.signals.length > 0 ? [...new Set([...settings.signals, "SIGINT" as const])] : [],
      signal: (name) => this.#signalled(name),
      holds: (name) => this.#holds && !this.#isLeftToOthers(name),
      processEnds: () => {
        if (!terminated.isTerminating()) terminated.stop("the process ends");
      },
    };
    if (manner === "found" && process.pid === 1) this.#early = rememberSignal(settings.signals);
  }

  /** Whether a signal or a crash ends the process. */
  get isSignalled(): boolean {
    return this.#isSignalled;
  }

  /** There is something to stop: from here on signals and crashes are handled. */
  engage(): void {
    const { crashes, signals } = this.#settings;
    if (crashes === "close") this.#leaveCrashes ??= closeOnCrash((message) => this.#crashed(message));
    if (signals.length === 0 && !this.#terminated.exits()) return;
    signalGate().join(this.#member);
    if (signals.length > 0) this.#heartbeat.start();
  }

  /** A signal that came while the process had nothing to stop yet. */
  catchUp(): void {
    const signal = this.#early?.();
    if (signal) this.#terminated.terminate(signal.name, signal.late);
  }

  /** The termination begins: from here on a crash must not end it. */
  begin(): void {
    signalGate().join(this.#member);
    this.#leaveCrashes?.();
  }

  /** The hold is over: handlers of others need not wait any more. */
  letOthers(): void {
    this.#holds = false;
  }

  leave(): void {
    this.#leaveCrashes?.();
    this.#leaveCrashes = undefined;
    signalGate().leave(this.#member);
    this.#heartbeat.stop();
  }

  /** Everything is closed. @param end what ends the process; undefined: it goes on. */
  end(end: (() => void) | undefined): void {
    if (end) signalGate().endWhenLast(end, this.#isSignalled);
    else signalGate().endIfOwed();
  }

  /** @returns whether it is no signal that the program alone is to deal with. */
  #signalled(name: NodeJS.Signals): boolean {
    if (this.#isLeftToOthers(name)) return false;
    this.#isSignalled = true;
    const received = this.#received.has(name) ? `${name} again` : name;
    this.#received.add(name);
    if (!this.#settings.signals.includes(name)) this.#interrupted(name);
    else if (!this.#terminated.isTerminating()) this.#terminate(name);
    else if (this.#isHelping) this.#terminated.stop(name);
    // Programs send it to themselves once they are done, and primaries to workers that have got it from us.
    else if (signalGate().passed === undefined && !cluster.isWorker)
      this.#announcer.notice("signal", `${received}, during ${this.#terminated.phase()}: changes nothing`);
    return true;
  }

  #terminate(name: NodeJS.Signals): void {
    this.#terminated.terminate(name, this.#heartbeat.lateness());
    if (this.#manner !== "found" || !isHelper(this.#terminated.listeners())) return;
    signalGate().raised(name);
    this.#isHelping = true;
    const { ppid } = process;
    let isNew = true;
    // The parent of a helper knows best how long it needs it.
    const timer = setInterval(() => {
      const isNeeded = isNew ? doesParentHold() : process.ppid === ppid;
      isNew = false;
      if (isNeeded && this.#terminated.phase() === "lame-duck") return;
      clearInterval(timer);
      this.#terminated.stop(name);
    }, askPeriodMs);
  }

  /**
   * Ctrl-C is no deletion: no sender is still to learn of it. A second one ends the process at once, unless it is the program's: handled by it, or sent by
   * it to itself.
   */
  #interrupted(name: NodeJS.Signals): void {
    const { passed, exit } = signalGate();
    this.#interrupts++;
    const isSecond = this.#interrupts > (passed === undefined ? 1 : 2);
    if (isSecond && this.#terminated.exits() && signalGate().others(name).length === 0) exit.now(130);
    this.#terminated.stop(name);
  }

  #crashed(message: string): void {
    tellCrash(message, this.#announcer, this.#settings.log);
    this.#isSignalled = true;
    this.#terminated.crash();
    signalGate().endAll();
  }

  /** An application that knows nothing of us does with Ctrl-C what it likes. */
  #isLeftToOthers(name: NodeJS.Signals): boolean {
    const isTermination = this.#settings.signals.includes(name);
    return this.#manner === "found" && !isTermination && signalGate().others(name).length > 0;
  }
}

/** Forgets what was remembered. @returns the first signal that came, and how long ago, in milliseconds. */
type EarlySignal = () => { name: NodeJS.Signals; late: number } | undefined;

/**
 * The kernel keeps a signal from a process 1 that has no handler yet: a pod deleted while it starts up would then serve until SIGKILL.
 * To have one that does nothing changes nothing else, as for others the signal is lost either way.
 */
function rememberSignal(signals: readonly NodeJS.Signals[]): EarlySignal {
  let first: { name: NodeJS.Signals; at: number } | undefined;
  const remember = (name: NodeJS.Signals): void => void (first ??= { name, at: performance.now() });
  for (const name of signals) process.on(name, remember);
  return () => {
    for (const name of signals) process.removeListener(name, remember);
    return first && { name: first.name, late: performance.now() - first.at };
  };
}

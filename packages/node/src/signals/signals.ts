import { EventEmitter } from "node:events";
import { constants } from "node:os";
import { replaceEmit } from "../internals.ts";

/** A subscriber to signals: one for each lameduck() call of the process. */
export interface SignalMember {
  /** Which signals it listens to; none where code tells it when to terminate. */
  readonly signals: readonly NodeJS.Signals[];
  signal(name: NodeJS.Signals): void;
  /** Whether handlers of others must wait until its hold is over. */
  holds(name: NodeJS.Signals): boolean;
  /** A signal has ended all who listen to signals: now the process ends. */
  processEnds(): void;
}

export type SignalHandler = (name: NodeJS.Signals, number: number) => unknown;

/**
 * The process gets a signal once, however many servers and copies of this package it holds, so that the gate belongs to the process.
 * While a member holds, a signal reaches no other handler: a framework that closes its listener at SIGTERM would refuse exactly
 * the requests that we stay for. When the last member has let go, the handlers get the signal as if it came only now.
 */
export class SignalGate {
  readonly #members = new Set<SignalMember>();
  /** Our own handler of each signal that a member listens to. */
  readonly #handlers = new Map<NodeJS.Signals, () => void>();
  readonly #owed = new Set<NodeJS.Signals>();
  #emit: typeof process.emit | undefined;
  /** The exit code of a member that has ended while others still run. */
  #exitCode: number | undefined;

  join(member: SignalMember): void {
    this.#members.add(member);
    for (const name of member.signals) if (!this.#handlers.has(name)) this.#listen(name);
  }

  /** Ends the member's subscription. */
  leave(member: SignalMember): void {
    this.#members.delete(member);
    for (const [name, handler] of this.#handlers)
      if (!this.#listeners(name).length) {
        process.removeListener(name, handler);
        this.#handlers.delete(name);
      }
    // Code that wrapped process.emit after us still calls our function.
    if (this.#handlers.size > 0 || !this.#emit || process.emit !== this.#gatedEmit) return;
    if (this.#emit === EventEmitter.prototype.emit) Reflect.deleteProperty(process, "emit");
    else process.emit = this.#emit;
    this.#emit = undefined;
  }

  /**
   * To be called when a member's hold is over: once no member holds any more, other handlers get the signal that was withheld.
   * Of several it is the first: to many programs a second signal means to exit at once.
   * @param call what calls a handler.
   * @returns the signal, where there are handlers that got it.
   */
  release(call: (handler: SignalHandler, name: NodeJS.Signals) => void): NodeJS.Signals | undefined {
    const owed = [...this.#owed];
    if (owed.some((name) => this.#isHeld(name))) return undefined;
    this.#owed.clear();
    const name = owed.find((each) => this.others(each).length > 0);
    if (!name) return undefined;
    const others = this.others(name);
    // Our handler is removed meanwhile: some packages act only if theirs is the only handler.
    const ours = this.#handlers.get(name);
    if (ours) process.removeListener(name, ours);
    for (const other of others) call(other, name);
    if (ours && this.#handlers.get(name) === ours) process.on(name, ours);
    return name;
  }

  /** Exits once no member is left. @param bySignal a signal ended the process; false: code ended one member. */
  exitWhenLast(exitCode: number, bySignal: boolean): void {
    if (this.#members.size === 0) process.exit(exitCode);
    this.#exitCode = exitCode;
    const hasNoSignals = (member: SignalMember): boolean => member.signals.length === 0;
    if (bySignal && [...this.#members].every(hasNoSignals))
      for (const member of this.#members) member.processEnds();
  }

  /** To be called by a member that leaves the process running: an earlier one may have wanted its end. */
  exitIfOwed(): void {
    if (this.#members.size === 0 && this.#exitCode !== undefined) process.exit(this.#exitCode);
  }

  /** The process cannot go on: every member stops. */
  endAll(): void {
    for (const member of this.#members) member.processEnds();
  }

  /** Handlers that others have registered. */
  others(name: NodeJS.Signals): SignalHandler[] {
    const ours = this.#handlers.get(name);
    return (process.rawListeners(name) as SignalHandler[]).filter((handler) => handler !== ours);
  }

  #listen(name: NodeJS.Signals): void {
    const handler = (): void => {
      for (const member of this.#listeners(name)) member.signal(name);
    };
    this.#handlers.set(name, handler);
    // Node binds process.emit when a signal gets its first listener: whoever came before us is registered anew.
    const earlier = process.rawListeners(name) as NodeJS.SignalsListener[];
    process.removeAllListeners(name);
    if (!this.#emit) {
      // oxlint-disable-next-line typescript/unbound-method -- it is called with the process, and put back as it was
      this.#emit = process.emit;
      replaceEmit(this.#gatedEmit);
    }
    process.on(name, handler);
    for (const listener of earlier) process.on(name, listener);
  }

  readonly #gatedEmit = ((event: NodeJS.Signals, ...args: unknown[]): boolean => {
    const handler = this.#handlers.get(event);
    // Node keeps calling the emit that it has bound, also after it was put back: see leave().
    // oxlint-disable-next-line typescript/unbound-method -- it is called with the process
    const emit = this.#emit ?? process.emit;
    if (!handler || !this.#isHeld(event)) return Reflect.apply(emit, process, [event, ...args]);
    this.#owed.add(event);
    handler();
    return true;
  }) as typeof process.emit;

  #isHeld(name: NodeJS.Signals): boolean {
    return this.#listeners(name).some((member) => member.holds(name));
  }

  #listeners(name: NodeJS.Signals): SignalMember[] {
    return [...this.#members].filter((member) => member.signals.includes(name));
  }
}

export function callHandler(handler: SignalHandler, name: NodeJS.Signals): unknown {
  return Reflect.apply(handler, process, [name, constants.signals[name]]);
}

/** Shared by all copies of this package in the process, hence a registered symbol with the version of the interface in it. */
const place = Symbol.for("@lameduck/node:signals:3");

export function signalGate(): SignalGate {
  const holder = process as unknown as Record<symbol, SignalGate | undefined>;
  return (holder[place] ??= new SignalGate());
}

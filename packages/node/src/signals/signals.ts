import { EventEmitter } from "node:events";
import { constants } from "node:os";
import { replaceEmit, restoreSignals } from "../internals.ts";
import { LateExit, watchKill } from "./late-exit.ts";
import { followPrimary } from "./worker.ts";

/** By which a primary tells its workers to hold: all members listen to it, but for those that listen to none. */
const ofPrimary = "SIGTERM";

/** A subscriber to signals: one for each lameduck() call of the process. */
export interface SignalMember {
  /** Which signals it listens to; none where code tells it when to terminate. */
  readonly signals: readonly NodeJS.Signals[];
  /** @returns whether it acts on it: false where it is left to the program alone. */
  signal(name: NodeJS.Signals): boolean;
  /** Whether handlers of the program must wait until its hold is over. */
  holds(name: NodeJS.Signals): boolean;
  /** A signal has ended all who listen to signals: now the process ends. */
  processEnds(): void;
}

export type SignalHandler = (name: NodeJS.Signals, number: number) => unknown;

/**
 * The process gets a signal once, however many servers and copies of this package it holds, so that the gate belongs to the process.
 * While a member holds, a signal reaches no handler of the program: a framework that closes its listener at SIGTERM would refuse exactly
 * the requests that we stay for. When the last member has let go, the handlers get the signal as if it came only now.
 */
export class SignalGate {
  readonly exit = new LateExit();
  /** What must be over before the program's handlers get the signal. */
  readonly ahead = new Set<Promise<unknown>>();
  /** Whether the program itself has sent a signal that it had got. */
  isRaised = false;
  readonly #members = new Set<SignalMember>();
  readonly #atExit = new Set<(code: number) => void>();
  #whenEmpty: (() => void) | undefined;
  /** What ends the process once the members that still run have ended. */
  #owedEnd: (() => void) | undefined;

  // How signals come here.
  /** Our own handler of each signal that a member listens to. */
  readonly #handlers = new Map<NodeJS.Signals, () => void>();
  #isListening = false;
  /** `process.emit` as it was before ours. */
  #emit: typeof process.emit | undefined;
  /** The number of listeners that was set to make room for ours. */
  #room: number | undefined;
  #unwatchKill: (() => void) | undefined;

  // What has become of them.
  /** Members have acted on them. */
  readonly #acted = new Set<NodeJS.Signals>();
  /** The program's handlers have not got them yet. */
  readonly #withheld = new Set<NodeJS.Signals>();
  #passed: NodeJS.Signals | undefined;
  #fatal: NodeJS.Signals | undefined;
  /** Whether the signal that is emitted now reaches handlers of the program. */
  #reachesOthers: boolean | undefined;

  // The primary of a cluster, where this is a worker.
  /** It has told this worker to hold, and its handlers tell it what comes next: they count as handlers of this process. */
  #isFollowing = false;
  #isLetGo = false;
  /** Tells the primary that the hold is over. */
  #tellOver: (() => void) | undefined;
  #unfollow: ((isEnding: boolean) => void) | undefined;

  /** The signal that the program's handlers have got: what they have begun ends the process. */
  get passed(): NodeJS.Signals | undefined {
    return this.#passed;
  }

  /** The signal that the program ends by: it came again, and nobody listens to it any more. */
  get fatal(): NodeJS.Signals | undefined {
    return this.#fatal;
  }

  /** Whether the primary that this worker waits for will say nothing any more. */
  get isLetGo(): boolean {
    return this.#isFollowing && this.#isLetGo;
  }

  join(member: SignalMember): void {
    this.#members.add(member);
    for (const name of member.signals) if (!this.#handlers.has(name)) this.#listen(name);
  }

  /** Ends the member's subscription. */
  leave(member: SignalMember): void {
    this.#members.delete(member);
    for (const [name, handler] of this.#handlers)
      if (!this.#listeners(name).length) {
        this.#handlers.delete(name);
        process.removeListener(name, handler);
      }
    if (this.#handlers.size > 0 || !this.#isListening) return;
    this.#isListening = false;
    // One that ends says nothing: it is waited for until it has gone.
    this.#unfollow?.(this.#acted.size > 0);
    this.#unwatchKill?.();
    this.#unwatchKill = undefined;
    process.removeListener("newListener", this.#makeRoom);
    process.removeListener("removeListener", this.#stay);
    // Code that wrapped process.emit after us still calls our function.
    if (!this.#emit || process.emit !== this.#gatedEmit) return;
    if (this.#emit === EventEmitter.prototype.emit) Reflect.deleteProperty(process, "emit");
    else process.emit = this.#emit;
    this.#emit = undefined;
  }

  /** Whether handlers of the program have got the signal of this termination, or are to get it. */
  get concernsOthers(): boolean {
    if (this.#passed !== undefined || this.#isFollowing) return true;
    return [...this.#withheld].some((name) => this.others(name).length > 0);
  }

  /**
   * To be called when a member's hold is over: once no member holds any more, the program's handlers get the signal that was withheld.
   * Of several it is the first: to many programs a second signal means to exit at once.
   */
  release(): void {
    this.#holdIsOver();
    const withheld = [...this.#withheld];
    if (withheld.some((name) => this.#isHeld(name))) return;
    this.#withheld.clear();
    const name = withheld.find((each) => this.others(each).length > 0);
    if (name) this.#passOn(name);
  }

  /** The process ends by the signal, as without us, where the program has no handler of it. */
  raised(name: NodeJS.Signals): void {
    if (this.others(name).length === 0) this.#fatal ??= name;
  }

  /** Calls back, once, when the event loop is empty: the program is then told of it only when it is empty again. */
  whenEmpty(call: (() => void) | undefined): void {
    this.#whenEmpty = call;
  }

  /** One listener of the process for all: more than ten would cause a warning. @returns what takes it back. */
  atExit(call: (code: number) => void): () => void {
    if (this.#atExit.size === 0) process.once("exit", this.#exiting);
    this.#atExit.add(call);
    return () => {
      this.#atExit.delete(call);
      if (this.#atExit.size === 0) process.removeListener("exit", this.#exiting);
    };
  }

  /**
   * Ends the process once no member is left.
   * @param end what ends it.
   * @param bySignal a signal ended the process; false: code ended one member.
   */
  endWhenLast(end: () => void, bySignal: boolean): void {
    if (this.#members.size === 0) return end();
    this.#owedEnd = end;
    // One that came after the signal waits for another in vain.
    const isLate = ({ signals }: SignalMember): boolean =>
      signals.length === 0 || signals.some((name) => this.#acted.has(name));
    if (bySignal && (this.exit.code !== undefined || [...this.#members].every(isLate))) this.endAll();
  }

  /** To be called by a member that leaves the process running: an earlier one may have wanted its end. */
  endIfOwed(): void {
    if (this.#members.size > 0) return;
    this.#passed = undefined;
    this.#isFollowing = false;
    this.#acted.clear();
    this.#owedEnd?.();
  }

  /** The process cannot go on: every member stops. */
  endAll(): void {
    for (const member of this.#members) member.processEnds();
  }

  /** Handlers of the program. */
  others(name: NodeJS.Signals): SignalHandler[] {
    const ours = this.#handlers.get(name);
    const visible = new Set<unknown>(process.listeners(name));
    return rawHandlers(name).filter((handler) => handler !== ours && visible.has(unwrapped(handler)));
  }

  /** Handlers that a tool hides from the program: they tell the tool that the signal has come, and it waits for that. */
  #hidden(name: NodeJS.Signals): SignalHandler[] {
    const visible = new Set<unknown>(process.listeners(name));
    return rawHandlers(name).filter((handler) => !visible.has(unwrapped(handler)));
  }

  /** Calls the program's handlers. Ours is removed meanwhile: some packages act only if theirs is the only handler. */
  #passOn(name: NodeJS.Signals): void {
    this.#passed = name;
    const others = this.others(name);
    const ours = this.#handlers.get(name);
    this.#handlers.delete(name);
    if (ours) process.removeListener(name, ours);
    this.#unwatchKill ??= watchKill(name, () => {
      this.isRaised = true;
      // While our handler is removed, the signal would kill the process at once.
      const isLast = !this.#handlers.has(name) && this.others(name).length === 0;
      if (isLast) this.#fatal ??= name;
      return isLast;
    });
    for (const other of others) callHandler(other, name);
    if (!ours || this.#listeners(name).length === 0) return;
    this.#handlers.set(name, ours);
    process.on(name, ours);
  }

  #listen(name: NodeJS.Signals): void {
    const handler = (): void => {
      const acts = this.#listeners(name).map((member) => member.signal(name));
      if (!acts.includes(true)) return;
      this.#acted.add(name);
      if (!this.#isHeld(name)) this.#reached(name);
    };
    this.#handlers.set(name, handler);
    // Node binds process.emit when a signal gets its first listener: whoever came before us is registered anew.
    const earlier = rawHandlers(name) as NodeJS.SignalsListener[];
    process.removeAllListeners(name);
    if (!this.#emit) {
      // oxlint-disable-next-line typescript/unbound-method -- it is called with the process, and put back as it was
      this.#emit = process.emit;
      replaceEmit(this.#gatedEmit);
    }
    if (!this.#isListening) {
      this.#isListening = true;
      this.#unfollow = followPrimary({
        hold: (over) => this.#follow(over),
        letGo: () => (this.#isLetGo = true),
      });
      restoreSignals();
      process.on("newListener", this.#makeRoom);
      process.on("removeListener", this.#stay);
    }
    process.on(name, handler);
    for (const listener of earlier) process.on(name, listener);
  }

  /** The program's own handlers get it, too; or it has none left: then the signal ends it, as it would without us. */
  #reached(name: NodeJS.Signals): void {
    if (this.#reachesOthers ?? this.others(name).length > 0) this.#passed ??= name;
    else if (this.#passed !== undefined) this.#fatal ??= name;
  }

  /** Where a signal has come as well, it means what it means without us. */
  #follow(over: () => void): void {
    this.#tellOver = over;
    this.#isLetGo = false;
    if (this.#acted.size === 0 && this.#withheld.size === 0) {
      this.#isFollowing = true;
      const acts = this.#listeners(ofPrimary).map((member) => member.signal(ofPrimary));
      this.#isFollowing = acts.includes(true);
      if (this.#isFollowing) this.#acted.add(ofPrimary);
    }
    this.#holdIsOver();
  }

  #holdIsOver(): void {
    if (!this.#tellOver || this.#isHeld(ofPrimary)) return;
    if (this.#isFollowing) this.#passed ??= ofPrimary;
    this.#tellOver();
    this.#tellOver = undefined;
  }

  /** Our handler takes none of the places that Node allows without a warning; it looks once this listener is added. */
  readonly #makeRoom = (name: NodeJS.Signals): void => {
    const most = process.getMaxListeners();
    if (!this.#handlers.has(name) || most === 0 || most === this.#room) return;
    const room = most + 1;
    this.#room = room;
    process.setMaxListeners(room);
    queueMicrotask(() => {
      if (process.getMaxListeners() === room) process.setMaxListeners(most);
      this.#room = undefined;
    });
  };

  /** `process.removeAllListeners("SIGTERM")` is meant for the program's own. */
  readonly #stay = (name: NodeJS.Signals, listener: unknown): void => {
    if (listener !== this.#handlers.get(name)) return;
    this.#again(name);
    // All listeners of all events may go, those by which Node starts to listen to signals among them.
    queueMicrotask(() => {
      if (!this.#isListening || process.rawListeners("removeListener").includes(this.#stay)) return;
      restoreSignals();
      process.on("newListener", this.#makeRoom);
      process.on("removeListener", this.#stay);
      for (const each of this.#handlers.keys()) this.#again(each);
    });
  };

  #again(name: NodeJS.Signals): void {
    const handler = this.#handlers.get(name);
    if (handler && !rawHandlers(name).includes(handler)) process.on(name, handler);
  }

  readonly #exiting = (code: number): void => {
    for (const call of this.#atExit) call(code);
  };

  readonly #gatedEmit = ((event: NodeJS.Signals | "beforeExit", ...args: unknown[]): boolean => {
    if (event === "beforeExit" && this.#whenEmpty) {
      this.#whenEmpty();
      this.#whenEmpty = undefined;
      return true;
    }
    const name = event as NodeJS.Signals;
    const handler = this.#handlers.get(name);
    const hasOthers = handler !== undefined && this.others(name).length > 0;
    if (handler && (this.#isHeld(name) || (this.#isFollowing && hasOthers)))
      return this.#withhold(name, handler);
    // Asked before they run: what `once` registered is gone when it does.
    this.#reachesOthers = handler && hasOthers;
    // Node keeps calling the emit that it has bound, also after it was put back: see leave().
    // oxlint-disable-next-line typescript/unbound-method -- it is called with the process
    return Reflect.apply(this.#emit ?? process.emit, process, [event, ...args]);
  }) as typeof process.emit;

  /** Only we and tools get the signal. The program's handlers get it when the hold is over. */
  #withhold(name: NodeJS.Signals, handler: () => void): true {
    this.#withheld.add(name);
    this.#isFollowing = false;
    for (const hidden of this.#hidden(name)) callHandler(hidden, name);
    handler();
    if (!this.#isHeld(name)) this.release();
    return true;
  }

  #isHeld(name: NodeJS.Signals): boolean {
    return this.#listeners(name).some((member) => member.holds(name));
  }

  #listeners(name: NodeJS.Signals): SignalMember[] {
    return [...this.#members].filter((member) => member.signals.includes(name));
  }
}

function rawHandlers(name: NodeJS.Signals): SignalHandler[] {
  return process.rawListeners(name) as SignalHandler[];
}

/** What `once` registers wraps the handler. */
function unwrapped(handler: SignalHandler & { listener?: unknown }): unknown {
  return handler.listener ?? handler;
}

/** An error becomes an uncaught one, as from any listener, but the others get the signal, too. */
function callHandler(handler: SignalHandler, name: NodeJS.Signals): void {
  try {
    Reflect.apply(handler, process, [name, constants.signals[name]]);
  } catch (error) {
    process.nextTick(() => {
      throw error;
    });
  }
}

/** Shared by all copies of this package in the process, hence a registered symbol with the version of the interface in it. */
const place = Symbol.for("@lameduck/node:signals:6");

export function signalGate(): SignalGate {
  const holder = process as unknown as Record<symbol, SignalGate | undefined>;
  return (holder[place] ??= new SignalGate());
}

/** Who wants to know of signals: one for each lameduck() call of the process. */
export interface SignalMember {
  signal(name: NodeJS.Signals): void;
  /** Whether handlers of others must wait until this one says deliver. */
  readonly holds: boolean;
}

/**
 * The process has one SIGTERM, however many servers and copies of this package it holds, so that the gate belongs to the process.
 * While a member holds, SIGTERM reaches no other handler: a framework that closes its listener at SIGTERM would refuse exactly
 * the requests that we stay for. When the last member has let go, the handlers get the signal as if it came only now.
 */
export class SignalGate {
  readonly #members = new Set<SignalMember>();
  readonly #emit = process.emit.bind(process);
  #installed = false;
  #owed = false;

  join(member: SignalMember): void {
    this.#members.add(member);
    if (!this.#installed) this.#install();
  }

  /** The member wants to hear no more. */
  leave(member: SignalMember): void {
    this.#members.delete(member);
    if (this.#members.size === 0) this.#uninstall();
  }

  /**
   * To be called when a member's hold is over: once no member holds any more, others get the signal they are owed.
   * @returns how many handlers got it.
   */
  release(): number {
    if (!this.#owed || this.#isHeld()) return 0;
    this.#owed = false;
    const { others } = this;
    if (others === 0) return 0;
    // Ours leaves meanwhile: there are packages that act only if no handler but their own is there.
    process.removeListener("SIGTERM", this.#onTerm);
    this.#emitUngated("SIGTERM", "SIGTERM", 15);
    if (this.#installed) process.on("SIGTERM", this.#onTerm);
    return others;
  }

  /** Exits once no member is left that is still on its way. */
  exitWhenLast(exitCode: number): void {
    if (this.#members.size === 0) process.exit(exitCode);
  }

  /** Handlers that others have registered. */
  get others(): number {
    return process.listeners("SIGTERM").filter((listener) => listener !== this.#onTerm).length;
  }

  #install(): void {
    this.#installed = true;
    // Node binds process.emit when a signal gets its first listener: whoever came before us is registered anew.
    const earlier = process.rawListeners("SIGTERM") as NodeJS.SignalsListener[];
    process.removeAllListeners("SIGTERM");
    process.emit = this.#gatedEmit as typeof process.emit;
    process.on("SIGTERM", this.#onTerm);
    for (const listener of earlier) process.on("SIGTERM", listener);
    process.on("SIGINT", this.#onInt);
  }

  #uninstall(): void {
    this.#installed = false;
    if (process.emit === (this.#gatedEmit as typeof process.emit)) process.emit = this.#emit;
    process.removeListener("SIGTERM", this.#onTerm);
    process.removeListener("SIGINT", this.#onInt);
  }

  readonly #gatedEmit = (event: string, ...args: unknown[]): boolean => {
    if (event !== "SIGTERM" || !this.#isHeld()) return this.#emitUngated(event, ...args);
    this.#owed = true;
    this.#onTerm();
    return true;
  };

  #emitUngated(event: string, ...args: unknown[]): boolean {
    return (this.#emit as (event: string, ...args: unknown[]) => boolean)(event, ...args);
  }

  #isHeld(): boolean {
    for (const member of this.#members) if (member.holds) return true;
    return false;
  }

  readonly #onTerm = (): void => {
    for (const member of this.#members) member.signal("SIGTERM");
  };

  readonly #onInt = (): void => {
    for (const member of this.#members) member.signal("SIGINT");
  };
}

/** Shared by all copies of this package in the process, hence a registered symbol with the version of the interface in it. */
const place = Symbol.for("@lameduck/node:signals:1");

export function signalGate(): SignalGate {
  const holder = process as unknown as Record<symbol, SignalGate | undefined>;
  return (holder[place] ??= new SignalGate());
}

import type { EventEmitter } from "node:events";
import type { Clock } from "../clock.ts";
import { HandlerWork } from "./handler-work.ts";
import { callHandler, type SignalGate } from "./signals.ts";

/** How long handlers that got their signal late have to close their servers themselves before we do. */
const theirTurn = 1_000;
/** Handlers that have begun nothing for so long will not close their servers. */
const noTurn = 250;
/** Handlers that have nothing unfinished and have begun nothing for so long are done: what they wait for cannot be seen. */
const quiet = 1_000;
const pollPeriod = 10;

/** The application's own handlers of the signal, which got it only when the hold was over. */
export class OtherHandlers {
  readonly #clock: Clock;
  readonly #say: (message: string) => void;
  #called: { name: NodeJS.Signals; work: HandlerWork } | undefined;

  constructor(clock: Clock, say: (message: string) => void) {
    this.#clock = clock;
    this.#say = say;
  }

  /** Gives them the signal, and a moment to stop listening by themselves, as frameworks do in an order of their own. */
  async closeThemselves(
    gate: SignalGate,
    servers: Iterable<EventEmitter>,
    stillListening: () => boolean,
    until: number,
  ): Promise<void> {
    const work = new HandlerWork();
    const name = gate.release((handler, signal) =>
      work.call(nameOf(handler), () => callHandler(handler, signal)),
    );
    if (!name) return;
    this.#called = { name, work };
    for (const server of servers) work.followClose(server);
    await this.#whileAtWork(work, noTurn, Math.min(until, this.#clock.now() + theirTurn), stillListening);
  }

  /**
   * They may have more to do than to close servers: waits until they have nothing unfinished, or the event loop is empty, at the
   * latest until `until`.
   */
  async untilDone(until: number): Promise<void> {
    if (!this.#called) return;
    const { name, work } = this.#called;
    const announce = (what: string): boolean => {
      const { pending } = work;
      if (pending.length > 0)
        this.#say(`${what} the ${name} handlers of the application: ${pending.join(", ")}`);
      return pending.length > 0;
    };
    let isAnnounced = false;
    await this.#whileAtWork(work, quiet, until, () => {
      isAnnounced ||= announce("waiting for");
      return true;
    });
    if (this.#clock.now() >= until) announce("no more time for");
  }

  /** What they do from now on is not looked at, which would cost every step of the process. */
  end(): void {
    this.#called?.work.end();
  }

  async #whileAtWork(
    work: HandlerWork,
    longestPause: number,
    until: number,
    condition: () => boolean,
  ): Promise<void> {
    let { steps } = work;
    let since = this.#clock.now();
    while (condition() && this.#clock.now() < until) {
      if (work.steps !== steps || work.pending.length > 0) since = this.#clock.now();
      steps = work.steps;
      if (this.#clock.now() - since >= longestPause || (await isLoopEmpty())) return;
    }
  }
}

/** Waits a moment, without keeping the event loop alive for it. */
function isLoopEmpty(): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isEmpty: boolean): void => {
      clearTimeout(timer);
      process.removeListener("beforeExit", empty);
      resolve(isEmpty);
    };
    const empty = (): void => end(true);
    const timer = setTimeout(end, pollPeriod, false).unref();
    process.once("beforeExit", empty);
  });
}

function nameOf(handler: object & { name?: string; listener?: { name: string } }): string {
  // What `once` registers wraps the handler.
  return `${handler.listener?.name || handler.name || "a function without name"}()`;
}

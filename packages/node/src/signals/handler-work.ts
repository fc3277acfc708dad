import { AsyncLocalStorage, createHook, type AsyncHook } from "node:async_hooks";
import type { EventEmitter } from "node:events";
import { keepsAlive } from "../internals.ts";

/** Requests to the system keep the event loop alive without a handle that could be asked. */
const request = /^(FSREQ|GETADDRINFO|GETNAMEINFO|QUERYWRAP)/;

interface Resource {
  readonly type: string;
  isAlive(): boolean;
}

/**
 * What calls of the application have begun and not finished: the promises they returned, and the timers, sockets, processes and
 * files that they, and whatever continues them, have opened. Promises that were not returned are no work: of a race the loser
 * often stays pending for ever.
 */
export class HandlerWork {
  readonly #context = new AsyncLocalStorage<boolean>();
  readonly #unsettled = new Set<{ name: string }>();
  readonly #resources = new Map<number, Resource>();
  #steps = 0;
  readonly #hook: AsyncHook = createHook({
    init: (id, type, _trigger, resource) => {
      if (!this.#context.getStore()) return;
      this.#steps++;
      const known = resourceOf(type, resource);
      if (known) this.#resources.set(id, known);
    },
    destroy: (id) => void this.#resources.delete(id),
  });

  /** Grows with everything that the calls, or what continues them, begin. */
  get steps(): number {
    return this.#steps;
  }

  /** What is unfinished, in words. */
  get pending(): string[] {
    const kinds = [...this.#resources.values()].filter((resource) => resource.isAlive());
    return [
      ...[...this.#unsettled].map(({ name }) => `${name} has not settled`),
      ...new Set(kinds.map(({ type }) => type)),
    ];
  }

  /** An error becomes an uncaught one, as from any listener, but the caller goes on. */
  call(name: string, run: () => unknown): void {
    this.#hook.enable();
    try {
      const result = this.#context.run(true, run);
      if (isThenable(result)) this.#expect(name, result);
    } catch (error) {
      process.nextTick(() => {
        throw error;
      });
    }
  }

  /** Listeners of the event `close` may be callbacks of `close()`: what they begin continues the calls. */
  followClose(server: EventEmitter): void {
    server.prependOnceListener("close", () => this.#context.enterWith(true));
    server.once("close", () => this.#context.enterWith(false));
  }

  end(): void {
    this.#hook.disable();
    this.#resources.clear();
  }

  #expect(name: string, result: PromiseLike<unknown>): void {
    const promise = { name };
    this.#unsettled.add(promise);
    const settled = (): void => void this.#unsettled.delete(promise);
    // A rejection stays an unhandled one.
    void result.then(settled, (error: unknown) => {
      settled();
      throw error;
    });
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as Partial<PromiseLike<unknown>> | undefined)?.then === "function";
}

function resourceOf(type: string, resource: object): Resource | undefined {
  const isAlive = keepsAlive(resource);
  if (isAlive) return { type, isAlive };
  return request.test(type) ? { type, isAlive: () => true } : undefined;
}

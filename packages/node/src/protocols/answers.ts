import type { Writable } from "node:stream";
import { EventBoundary } from "./event-boundary.ts";
import type { WatchContext } from "../servers/traffic.ts";

/** What a protocol knows of its answers. */
export interface AnswerKind<T> {
  isBegun(answer: T): boolean;
  /** Asked once it has begun. */
  isEventStream(answer: T): boolean;
  /** Ends it in order, between two writes. */
  end(answer: T): void;
}

/**
 * Answers that are not finished, from the hold on. Those that last as long as the client likes (server-sent events, long polls) do not
 * count as in flight, or they would hold every pod to its cap; they are ended when closing begins.
 */
export class Answers<T extends Writable> {
  readonly #context: WatchContext;
  readonly #kind: AnswerKind<T>;
  readonly #inFlight = new Set<T>();
  /** Those in flight that may still turn out to be event streams. */
  readonly #undecided = new Set<T>();
  /** With what takes back that each is going to be ended. */
  readonly #endless = new Map<T, () => void>();
  readonly #boundaries = new WeakMap<T, EventBoundary>();
  /** Milliseconds over which endless answers are ended; undefined before closing. */
  #spread: number | undefined;

  constructor(context: WatchContext, kind: AnswerKind<T>) {
    this.#context = context;
    this.#kind = kind;
  }

  get unfinished(): number {
    return this.#inFlight.size + this.#endless.size;
  }

  begin(answer: T, isEndless: boolean): void {
    if (isEndless) this.#addEndless(answer);
    else {
      this.#inFlight.add(answer);
      this.#undecided.add(answer);
      this.#context.traffic.inFlight(1);
    }
  }

  finish(answer: T): void {
    this.#undecided.delete(answer);
    this.#endless.get(answer)?.();
    if (!this.#endless.delete(answer) && this.#inFlight.delete(answer)) this.#context.traffic.inFlight(-1);
  }

  /** To be called often: what an answer is shows in its headers. */
  classify(): void {
    for (const answer of this.#undecided) {
      if (!this.#kind.isBegun(answer)) continue;
      this.#undecided.delete(answer);
      if (!this.#kind.isEventStream(answer)) continue;
      this.finish(answer);
      this.#addEndless(answer);
    }
  }

  /** Ends the endless ones, and those that are yet to come, each at a random time within `spread` milliseconds. */
  endStreams(spread: number): void {
    this.#spread = spread;
    for (const answer of this.#endless.keys()) this.#addEndless(answer);
  }

  stop(): void {
    this.#inFlight.clear();
    this.#undecided.clear();
    for (const cancel of this.#endless.values()) cancel();
    this.#endless.clear();
  }

  #addEndless(answer: T): void {
    if (!this.#boundaries.has(answer)) this.#boundaries.set(answer, new EventBoundary(answer));
    if (this.#spread === undefined) {
      this.#endless.set(answer, () => {});
      return;
    }
    const timer = setTimeout(() => this.#end(answer), this.#context.random() * this.#spread);
    this.#endless.set(answer, () => clearTimeout(timer));
  }

  #end(answer: T): void {
    const end = (): void => this.#kind.end(answer);
    if (!this.#kind.isBegun(answer) || !this.#kind.isEventStream(answer)) end();
    else this.#endless.set(answer, this.#boundaries.get(answer)?.whenBetweenEvents(end) ?? (() => {}));
  }
}

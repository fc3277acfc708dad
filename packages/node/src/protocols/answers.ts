import type { Writable } from "node:stream";
import type { ProbeRequest } from "../options/requests.ts";
import type { Patience, WatchContext } from "./watch.ts";

/** What a protocol knows of its answers. */
export interface AnswerKind<T> {
  isBegun(answer: T): boolean;
  /** By its headers, as far as they are known. */
  isEventStream(answer: T): boolean;
  /** Ends it in order, between two writes. */
  end(answer: T): void;
}

/**
 * Answers that are not finished, from the hold on. Some last as long as the client likes: an EventSource's, long polls. These do not count as in
 * flight, or they would hold every pod to its cap. They are ended when closing begins.
 */
export class Answers<T extends Writable> {
  readonly #context: WatchContext;
  readonly #kind: AnswerKind<T>;
  readonly #inFlight = new Set<T>();
  /** Answers in flight that may still turn out to be event streams, and which kind of stream they would be. */
  readonly #undecided = new Map<T, Lasting>();
  /** Event streams in flight that end by themselves, as far as we know. */
  readonly #finite = new Set<T>();
  /** Streams without an end, each with a function that keeps it from being ended. */
  readonly #endless = new Map<T, () => void>();
  /** Those of them that are to be ended, and those that are not to be ended yet. */
  readonly #ripe = new Set<T>();
  readonly #unripe = new Set<T>();
  /** Those of the endless ones that may end by themselves. */
  readonly #doubtful = new WeakSet<T>();
  readonly #boundaries = new WeakMap<T, EventBoundary>();
  /** Undefined before closing. */
  #patience: Patience | undefined;
  #patientUntil = -Infinity;
  #ended = 0;

  constructor(context: WatchContext, kind: AnswerKind<T>) {
    this.#context = context;
    this.#kind = kind;
  }

  get unfinished(): number {
    return this.#inFlight.size + this.#endless.size;
  }

  /** Streams without an end that nobody has begun to end. */
  get lasting(): number {
    return this.#ripe.size + this.#unripe.size;
  }

  lasts(answer: T): boolean {
    return this.#ripe.has(answer) || this.#unripe.has(answer);
  }

  /** Those of them that are to be ended now, one after the other. */
  get ripe(): ReadonlySet<T> {
    return this.#ripe;
  }

  get ended(): number {
    return this.#ended;
  }

  /** Changes nothing for an answer that is known. */
  begin(answer: T, request: ProbeRequest): void {
    if (this.#inFlight.has(answer) || this.#endless.has(answer)) return;
    if (this.#context.isStream(request)) this.#addEndless(answer);
    else {
      this.#inFlight.add(answer);
      this.#undecided.set(answer, lastingOf(request));
      this.#context.traffic.inFlight(1);
    }
  }

  finish(answer: T): void {
    this.#undecided.delete(answer);
    this.#finite.delete(answer);
    this.#ripe.delete(answer);
    this.#unripe.delete(answer);
    this.#endless.get(answer)?.();
    if (!this.#endless.delete(answer) && this.#inFlight.delete(answer)) this.#context.traffic.inFlight(-1);
  }

  /** To be called often, since no event tells of headers, nor of silence. */
  classify(): void {
    for (const [answer, lasting] of this.#undecided)
      if (this.#kind.isEventStream(answer)) this.#decide(answer, lasting);
      else if (this.#kind.isBegun(answer)) this.#undecided.delete(answer);
    this.#ripen();
    if (this.#patience?.silence === undefined) return;
    const latest = this.#context.now() - this.#patience.silence;
    for (const answer of this.#finite)
      if ((this.#boundaries.get(answer)?.writtenAt ?? Infinity) <= latest) this.#becomesEndless(answer);
  }

  /** From now on the endless ones may be ended. */
  endStreams(patience: Patience): void {
    this.#patience = patience;
    const now = this.#context.now();
    this.#patientUntil = now + patience.doubtful;
    for (const answer of this.#finite) this.#follow(answer).writtenAt = now;
  }

  /** Ends one that waits, between two events. */
  end(answer: T): void {
    if (!this.#ripe.delete(answer)) return;
    this.#ended++;
    const end = (): void => this.#kind.end(answer);
    if (!this.#kind.isBegun(answer) || !this.#kind.isEventStream(answer)) end();
    else this.#endless.set(answer, this.#boundaries.get(answer)?.whenBetweenEvents(end) ?? (() => {}));
  }

  stop(): void {
    this.#inFlight.clear();
    this.#undecided.clear();
    this.#finite.clear();
    for (const cancel of this.#endless.values()) cancel();
    this.#endless.clear();
    this.#ripe.clear();
    this.#unripe.clear();
  }

  #decide(answer: T, lasting: Lasting): void {
    this.#undecided.delete(answer);
    if (lasting === "doubtful") this.#doubtful.add(answer);
    if (lasting !== "finite") this.#becomesEndless(answer);
    else {
      this.#finite.add(answer);
      this.#follow(answer);
    }
  }

  #becomesEndless(answer: T): void {
    this.finish(answer);
    this.#addEndless(answer);
  }

  #follow(answer: T): EventBoundary {
    const known = this.#boundaries.get(answer);
    if (known) return known;
    const boundary = new EventBoundary(answer, this.#context.now);
    this.#boundaries.set(answer, boundary);
    return boundary;
  }

  #addEndless(answer: T): void {
    this.#follow(answer);
    this.#endless.set(answer, () => {});
    this.#unripe.add(answer);
    this.#ripen();
  }

  /** Those that may end by themselves have some time for it. */
  #ripen(): void {
    if (this.#patience === undefined) return;
    const isPatient = this.#context.now() < this.#patientUntil;
    for (const answer of this.#unripe)
      if (!isPatient || !this.#doubtful.has(answer)) {
        this.#unripe.delete(answer);
        this.#ripe.add(answer);
      }
  }
}

/**
 * What becomes of a `text/event-stream`: it is `endless`, its client comes back by itself; `doubtful`, which may be either; or `finite`, an answer
 * like any other. EventSource always asks by GET and always says what it accepts (HTML, 9.2). By other methods come a language model's
 * completion, MCP and GraphQL, whose clients take the end of the stream for the end of the answer.
 */
type Lasting = "endless" | "doubtful" | "finite";

function lastingOf({ method, headers }: ProbeRequest): Lasting {
  if (method !== "GET") return "finite";
  return headers["accept"]?.includes("text/event-stream") ? "endless" : "doubtful";
}

/** The rest of an event that is half written is waited for so long: applications write it soon after its beginning. */
const longestEventMs = 1_000;
/** A line break, then an empty line. */
const lastBytes = 4;

/** Where the events of a `text/event-stream` end (HTML, 9.2.5): an application may write one in several parts. */
class EventBoundary {
  /** Time of the last write, or of the beginning of the watch before the first one. */
  writtenAt: number;
  #tail = "";
  #atBoundary: (() => void) | undefined;
  readonly #stream: Writable;
  readonly #write: Writable["write"];
  readonly #now: () => number;

  constructor(stream: Writable, now: () => number) {
    this.#stream = stream;
    this.#now = now;
    this.writtenAt = now();
    // oxlint-disable-next-line typescript/unbound-method -- it is called with the stream
    this.#write = stream.write;
    stream.write = this.#follow;
  }

  /** Calls `end` once no event is half written. @returns what takes that back. */
  whenBetweenEvents(end: () => void): () => void {
    if (this.#isBetween()) {
      end();
      return () => {};
    }
    const finish = (): void => {
      cancel();
      end();
    };
    const timer = setTimeout(finish, longestEventMs);
    const cancel = (): void => {
      clearTimeout(timer);
      this.#atBoundary = undefined;
    };
    this.#atBoundary = finish;
    return cancel;
  }

  readonly #follow = ((...args: Parameters<Writable["write"]>): boolean => {
    const isTaken = Reflect.apply(this.#write, this.#stream, args);
    this.writtenAt = this.#now();
    const [chunk] = args as unknown[];
    const text = typeof chunk === "string" ? chunk.slice(-lastBytes) : latin1(chunk);
    this.#tail = (this.#tail + text).slice(-lastBytes);
    if (this.#isBetween()) this.#atBoundary?.();
    return isTaken;
  }) as Writable["write"];

  /** True also where nothing has been written since the hold began: no event takes that long. */
  #isBetween(): boolean {
    return this.#tail === "" || this.#tail.replaceAll(/\r\n?/g, "\n").endsWith("\n\n");
  }
}

function latin1(chunk: unknown): string {
  return chunk instanceof Uint8Array ? Buffer.from(chunk.slice(-lastBytes)).toString("latin1") : "";
}

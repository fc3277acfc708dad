import { setTimeout as delay } from "node:timers/promises";
import { LoadError } from "../errors.ts";
import { parseLoad, type LoadOptions, type LoadPlan } from "../plan.ts";
import type { Trial } from "../generator/trials.ts";
import type { Judgement, Tried } from "../worked.ts";
import type { FromGenerator, Progress, ToGenerator } from "../generator/protocol.ts";
import { readRecords, type RecordChunk } from "../generator/records.ts";
import type { RunClock, RequestRecord } from "@lameduck/accounting";
import { messageOf } from "@lameduck/drain/common";
import { Child, generatorProgram } from "../generator/child.ts";
import type { LoadCounts, LoadEnd, LoadSeen, LoadSource } from "./load-source.ts";
import { judgeRoutes, routePlan, senderOf } from "./plan.ts";
import type { OpenRoute } from "./route.ts";

export interface RouteLoadOptions {
  readonly clock: RunClock;
  readonly routes: readonly OpenRoute[];
  /** Requests per second, all routes together. */
  readonly rate: number;
  /** Share of requests on kept-alive connections. */
  readonly pooledShare: number;
  /** Milliseconds. */
  readonly timeout: number;
  readonly maxDuration: number;
  readonly maxRequests: number;
  /** How long nothing happens to the target yet: statuses are learned from what is answered then. */
  readonly learn?: number;
  readonly seed: number;
}

/** What a generator takes at most to end, beyond the time-out of its last request. */
const longestEndMs = 30_000;

/** The load of this machine: a generator for each route, in a process of its own, sharing the rate. */
export class RouteLoad implements LoadSource {
  readonly addresses: ReadonlyMap<string, string>;
  readonly #routes: readonly OpenRoute[];
  readonly #generators: readonly GeneratorProcess[];

  private constructor(options: RouteLoadOptions) {
    this.addresses = new Map(options.routes.map(({ name, address }) => [name, address]));
    this.#routes = options.routes;
    this.#generators = options.routes.map((route, index) => new GeneratorProcess(options, route, index));
  }

  /** Resolves when every generator is ready to begin. */
  static async start(options: RouteLoadOptions): Promise<RouteLoad> {
    const load = new RouteLoad(options);
    try {
      await Promise.all(load.#generators.map(({ ready }) => ready));
    } catch (error) {
      await load.close();
      throw error;
    }
    return load;
  }

  get failed(): Promise<never> {
    return Promise.race(this.#generators.map(({ failed }) => failed));
  }

  async begin(): Promise<void> {
    await Promise.all(this.#generators.map((generator) => generator.begin()));
  }

  counts(): LoadCounts {
    let sent = 0;
    let failed = 0;
    for (const { progress } of this.#generators) {
      sent += progress.finished - progress.notSent;
      failed += progress.lost;
    }
    return { sent, failed };
  }

  judge(): Judgement {
    return judgeRoutes(
      this.#generators.flatMap(({ trials }) => trials),
      this.#routes,
    );
  }

  /** Requests that a generator had not reported when it died are missing; all others are kept. */
  async stop({ abandon = false }: Pick<LoadEnd, "abandon"> = {}): Promise<LoadSeen> {
    const notes: string[] = [];
    let missing = 0;
    const seen = await Promise.all(
      this.#generators.map(async (generator) => {
        const problem = await generator.stop(abandon);
        const { records, progress } = generator;
        if (problem === undefined) return records;
        missing += Math.max(0, progress.due - records.length);
        notes.push(`The end of what one generator saw is missing: ${problem}.`);
        return records;
      }),
    );
    const records: RequestRecord[] = [];
    let connections = 0;
    for (const own of seen) {
      // Each generator numbers its connections from one.
      const before = connections;
      for (const { connection: number, ...record } of own) {
        const connection = number === undefined ? {} : { connection: before + number };
        connections = Math.max(connections, before + (number ?? 0));
        records.push({ ...record, ...connection, id: records.length });
      }
    }
    return { records, missing, notes };
  }

  async close(): Promise<void> {
    await Promise.all(this.#generators.map((generator) => generator.close()));
  }
}

/** One generator's process and its messages. */
class GeneratorProcess {
  readonly failed: Promise<never>;
  readonly ready: Promise<void>;
  progress: Progress = { due: 0, finished: 0, lost: 0, notSent: 0, inFlight: 0 };
  readonly #name: string;
  #trials: readonly Trial[] = [];
  readonly #child: Child<ToGenerator, FromGenerator>;
  readonly #chunks: RecordChunk[] = [];
  readonly #ready = Promise.withResolvers<void>();
  readonly #begun = Promise.withResolvers<void>();
  readonly #done = Promise.withResolvers<undefined>();
  readonly #names: string[] = [];
  readonly #timeout: number;

  constructor(options: RouteLoadOptions, route: OpenRoute, index: number) {
    const { clock, seed } = options;
    const failure = Promise.withResolvers<never>();
    // A rejection that nobody awaits yet must not end the process.
    failure.promise.catch(() => undefined);
    this.failed = failure.promise;
    this.#name = route.name;
    this.#timeout = options.timeout + longestEndMs;
    this.#child = new Child({
      program: generatorProgram,
      received: (message) => this.#received(message),
      died: (how) =>
        failure.reject(new LoadError("LAMEDUCK_GENERATOR_DIED", route.name, `the generator ${how}`)),
    });
    this.#child.send({
      type: "prepare",
      origin: clock.origin,
      seed: seed + index,
      plan: planFor(options, route, index),
      senders: [senderOf(route)],
    });
    this.ready = this.#orFailed(this.#ready.promise);
  }

  get trials(): Tried[] {
    return this.#trials.map((trial) => ({ ...trial, sender: this.#name }));
  }

  begin(): Promise<void> {
    this.#child.send({ type: "begin" });
    return this.#orFailed(this.#begun.promise);
  }

  /** @returns why it did not come to its end in order. */
  async stop(abandon: boolean): Promise<string | undefined> {
    const late = delay(this.#timeout, `it did not end within ${this.#timeout / 1_000} s`, { ref: false });
    this.#child.send({ type: "stop", abandon });
    const problem = await Promise.race([this.#done.promise, this.failed.catch(messageOf), late]);
    await this.close();
    return problem;
  }

  /** Everything it has reported so far. */
  get records(): RequestRecord[] {
    const records: RequestRecord[] = [];
    for (const chunk of this.#chunks)
      for (const record of readRecords(chunk, records.length, [this.#name], this.#names))
        records.push(record);
    return records;
  }

  close(): Promise<void> {
    return this.#child.close();
  }

  #received(message: FromGenerator): void {
    switch (message.type) {
      case "ready":
        this.#ready.resolve();
        break;
      case "begun":
        this.#begun.resolve();
        break;
      case "progress":
        this.progress = message.progress;
        this.#trials = message.trials;
        break;
      case "records":
        this.#chunks[message.index] = message.chunk;
        this.#names.push(...message.names);
        break;
      case "done":
        this.progress = message.progress;
        this.#trials = message.trials;
        this.#done.resolve(undefined);
        break;
      case "event":
        break;
    }
  }

  #orFailed<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.failed]);
  }
}

function planFor(options: RouteLoadOptions, route: OpenRoute, index: number): LoadPlan {
  const routes = options.routes.length;
  const load: LoadOptions = {
    rate: options.rate / routes,
    pooledShare: options.pooledShare,
    timeout: options.timeout,
    learn: options.learn ?? 0,
    maxDuration: options.maxDuration,
    // The first ones take what cannot be shared evenly: all together send exactly the bound.
    maxRequests: Math.ceil((options.maxRequests - index) / routes),
  };
  return parseLoad(routePlan(load, route));
}

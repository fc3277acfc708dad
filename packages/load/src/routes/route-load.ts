import { setTimeout as delay } from "node:timers/promises";
import { parseLoad, type LoadOptions, type LoadPlan } from "../plan.ts";
import type { Judgement } from "../worked.ts";
import type { RunClock, RequestRecord } from "@lameduck/accounting";
import { messageOf } from "@lameduck/drain/common";
import type { PodCount } from "../generator/protocol.ts";
import { addCounts, RunningGenerator } from "../generator/running.ts";
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
  readonly #generators: readonly RunningGenerator[];
  readonly #longestStopMs: number;

  private constructor(options: RouteLoadOptions) {
    this.addresses = new Map(options.routes.map(({ name, address }) => [name, address]));
    this.#routes = options.routes;
    this.#longestStopMs = options.timeout + longestEndMs;
    const { clock, seed } = options;
    this.#generators = options.routes.map((route, index) => {
      const plan = planFor(options, route, index);
      const prepare = { origin: clock.origin, seed: seed + index, plan, senders: [senderOf(route)] };
      return new RunningGenerator(prepare, route.name);
    });
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
    const byPod = new Map<string, PodCount>();
    for (const { progress, byPod: own } of this.#generators) {
      addCounts(byPod, own);
      sent += progress.finished - progress.notSent;
      failed += progress.lost;
    }
    return { sent, failed, byPod };
  }

  soFar(): readonly RequestRecord[] {
    return together(this.#generators.map(({ records }) => records));
  }

  judge(): Judgement {
    return judgeRoutes(
      this.#generators.flatMap(({ trials }, index) =>
        trials.map((trial) => ({ ...trial, sender: this.#routes[index]!.name })),
      ),
      this.#routes,
    );
  }

  /** Requests that a generator had not reported when it died are missing; all others are kept. */
  async stop({ abandon = false }: Pick<LoadEnd, "abandon"> = {}): Promise<LoadSeen> {
    const notes: string[] = [];
    let missing = 0;
    const seen = await Promise.all(
      this.#generators.map(async (generator) => {
        const problem = await this.#problemOf(generator.stop(abandon));
        await generator.close();
        const { records, progress } = generator;
        if (problem === undefined) return records;
        missing += Math.max(0, progress.due - records.length);
        notes.push(`The end of what one generator saw is missing: ${problem}.`);
        return records;
      }),
    );
    return { records: together(seen), missing, notes };
  }

  async close(): Promise<void> {
    await Promise.all(this.#generators.map((generator) => generator.close()));
  }

  /** Why a generator did not come to its end in order. */
  #problemOf(stopped: Promise<unknown>): Promise<string | undefined> {
    const most = this.#longestStopMs;
    const late = delay(most, `it did not end within ${most / 1_000} s`, { ref: false });
    return Promise.race([stopped.then(() => undefined, messageOf), late]);
  }
}

/** Each request with a number and a connection of its own. */
function together(seen: readonly (readonly RequestRecord[])[]): readonly RequestRecord[] {
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
  return records;
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

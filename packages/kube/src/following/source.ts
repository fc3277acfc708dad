import { setTimeout as delay } from "node:timers/promises";
import type { KubernetesClient } from "../client.ts";
import { orAborted } from "@lameduck/drain/common";
import { Follower, type FollowerOptions } from "./follower.ts";
import type { KubernetesObject } from "../objects.ts";
import { hasStatus } from "../retry.ts";

/** `absent`: the cluster has no such resource, and so no such objects. `refused`: they may not be read. */
type SourceState = "waiting" | "synced" | "absent" | "refused";

export interface SourceOptions<T> extends Omit<FollowerOptions<T>, "onFailure"> {
  /** "services": for the log and the metrics. */
  readonly name: string;
  readonly onProblem: (name: string, error: unknown) => void;
  /** A collection that failed or is absent is asked for again after this time. */
  readonly againMs?: number;
}

/** Follows a collection for as long as the process runs, whatever happens to the API server, to rights and to the resource. */
export class Source<T extends KubernetesObject> {
  readonly #options: SourceOptions<T>;
  readonly #stopping = new AbortController();
  /** The same follower after a failure: what it has reported it does not report again. */
  readonly #follower: Follower<T>;
  #onFailure: (error: Error) => void = () => undefined;
  #running: Promise<void> = Promise.resolve();
  readonly #settled = Promise.withResolvers<void>();
  #state: SourceState = "waiting";
  #isStarted = false;

  constructor(client: KubernetesClient, options: SourceOptions<T>) {
    this.#options = options;
    this.#follower = new Follower<T>(client, { ...options, onFailure: (error) => this.#onFailure(error) });
  }

  get name(): string {
    return this.#options.name;
  }

  get state(): SourceState {
    return this.#state;
  }

  get objects(): readonly T[] {
    return this.#follower.objects;
  }

  get size(): number {
    return this.#follower.size;
  }

  /** Further calls do nothing. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#running = this.#run();
  }

  /** Resolves when the API server has given any answer. */
  get settled(): Promise<void> {
    return this.#settled.promise;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#settled.resolve();
    await Promise.all([this.#follower.stop(), this.#running]);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#follow().catch((error: unknown) => {
        if (signal.aborted) return;
        // Known objects are kept, since old knowledge is better than none. For a resource type that is gone they are dropped.
        if (hasStatus(error, 404)) this.#follower.forgetAll();
        this.#state = hasStatus(error, 404) ? "absent" : hasStatus(error, 401, 403) ? "refused" : this.#state;
        if (this.#state !== "waiting") this.#settled.resolve();
        if (this.#state !== "absent") this.#options.onProblem(this.name, error);
      });
      const pause = this.#options.againMs ?? (this.#state === "absent" ? 60_000 : 2_000);
      await delay(pause * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined);
    }
  }

  /** @throws when it cannot go on. */
  async #follow(): Promise<void> {
    const failed = Promise.withResolvers<never>();
    this.#onFailure = failed.reject;
    await this.#follower.start();
    this.#state = "synced";
    this.#settled.resolve();
    await orAborted(failed.promise, this.#stopping.signal);
  }
}

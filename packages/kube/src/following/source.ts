import { setTimeout as delay } from "node:timers/promises";
import type { KubernetesClient } from "../client.ts";
import { orAborted } from "@lameduck/drain/common";
import { type Change, Follower, type FollowerOptions } from "./follower.ts";
import type { KubernetesObject } from "../objects.ts";
import { hasStatus } from "../retry.ts";

/** `absent`: the cluster has no such resource, and so no such objects. `refused`: they may not be read. */
export type SourceState = "waiting" | "synced" | "absent" | "refused";

export interface SourceOptions<T> extends Omit<FollowerOptions<T>, "onFailure" | "refusal"> {
  /** "services": for the log and the metrics. */
  readonly name: string;
  readonly onProblem: (name: string, error: unknown) => void;
  /** Milliseconds until what failed, or is not there, is asked for again. */
  readonly again?: number;
}

/** Follows a collection for as long as the process runs, whatever happens to the API server, to rights and to the resource. */
export class Source<T extends KubernetesObject> {
  readonly #client: KubernetesClient;
  readonly #options: SourceOptions<T>;
  readonly #stopping = new AbortController();
  /** What has been reported and is still there: a new follower does not know of it. */
  readonly #reported = new Map<string, T>();
  #running: Promise<void> = Promise.resolve();
  readonly #settled = Promise.withResolvers<void>();
  #state: SourceState = "waiting";
  #isStarted = false;

  constructor(client: KubernetesClient, options: SourceOptions<T>) {
    this.#client = client;
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  get state(): SourceState {
    return this.#state;
  }

  get objects(): readonly T[] {
    return [...this.#reported.values()];
  }

  get size(): number {
    return this.#reported.size;
  }

  /** Once, however often it is asked for. */
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
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#follow().catch((error: unknown) => {
        if (signal.aborted) return;
        // Known objects are kept, since old knowledge is better than none. For a resource type that is gone they are dropped.
        if (hasStatus(error, 404)) this.#forgetAllBut(new Set());
        this.#state = hasStatus(error, 404) ? "absent" : hasStatus(error, 401, 403) ? "refused" : this.#state;
        if (this.#state !== "waiting") this.#settled.resolve();
        if (this.#state !== "absent") this.#options.onProblem(this.name, error);
      });
      const pause = this.#options.again ?? (this.#state === "absent" ? 60_000 : 2_000);
      await delay(pause * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined);
    }
  }

  /** @throws when it cannot go on. */
  async #follow(): Promise<void> {
    const failed = Promise.withResolvers<never>();
    const follower = new Follower<T>(this.#client, {
      ...this.#options,
      onChange: (change) => this.#report(change),
      onFailure: failed.reject,
    });
    try {
      await follower.start();
      this.#forgetAllBut(new Set(follower.objects.map(({ metadata }) => metadata.uid)));
      this.#state = "synced";
      this.#settled.resolve();
      await orAborted(failed.promise, this.#stopping.signal);
    } finally {
      await follower.stop();
    }
  }

  #report(change: Change<T>): void {
    const { uid } = change.object.metadata;
    if (change.type === "gone") this.#reported.delete(uid);
    else this.#reported.set(uid, change.object);
    this.#options.onChange(change);
  }

  #forgetAllBut(there: ReadonlySet<string>): void {
    const at = Date.now();
    for (const [uid, object] of this.#reported)
      if (!there.has(uid)) this.#report({ type: "gone", object, at, live: false, since: at });
  }
}

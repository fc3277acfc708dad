import { setTimeout as delay } from "node:timers/promises";
import type { KubernetesClient } from "../client.ts";
import { messageOf, orAborted } from "@lameduck/drain/common";
import { Follower, type FollowerOptions } from "./follower.ts";
import type { KubernetesObject } from "../objects.ts";
import { hasStatus } from "../retry.ts";

/**
 * `absent`: the cluster has no such resource, and so no such objects. `refused`: they may not be read. `unheard`: what was read may be
 * outdated, since the API server has given no sign for long, or answers with errors.
 */
type SourceState = "waiting" | "synced" | "absent" | "refused" | "unheard";

/** A watch that works gives a sign at least every 30 s, when it is renewed. */
const longestUnheardMs = 90_000;

export interface SourceOptions<T> extends Omit<FollowerOptions<T>, "onFailure" | "onHeard"> {
  /** "services": for the log and the metrics. */
  readonly name: string;
  readonly onProblem: (name: string, error: unknown) => void;
  /** A collection that failed or is absent is asked for again after this time. */
  readonly againMs?: number;
  /** Where the collection is now, asked before each attempt; undefined where it is absent. Without it it is at `path`. */
  readonly locate?: () => Promise<string | undefined>;
  /** From one such question to the next while it is absent: default 4,000. */
  readonly locateAgainMs?: number;
  /** A clock that nobody sets, in milliseconds: default performance.now(). */
  readonly now?: () => number;
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
  readonly #tried = Promise.withResolvers<void>();
  #problem: string | undefined;
  #state: Exclude<SourceState, "unheard"> = "waiting";
  #heardAt: number;
  #isStarted = false;
  readonly #now: () => number;

  constructor(client: KubernetesClient, options: SourceOptions<T>) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#heardAt = this.#now();
    this.#follower = new Follower<T>(client, {
      ...options,
      onFailure: (error) => this.#onFailure(error),
      onHeard: () => (this.#heardAt = this.#now()),
    });
  }

  get name(): string {
    return this.#options.name;
  }

  /** "httpproxies.projectcontour.io": as a role names it. */
  get resource(): string {
    const [, root, ...parts] = this.#options.path.split("/");
    return root === "api" ? (parts.at(-1) ?? "") : `${parts.at(-1)}.${parts[0]}`;
  }

  get state(): SourceState {
    const isFollowed = this.#state === "synced" && this.#options.isListOnly !== true;
    return isFollowed && this.unheardMs > longestUnheardMs ? "unheard" : this.#state;
  }

  /** Whether its objects are those of the cluster now, as far as anybody can tell. */
  get isKnown(): boolean {
    return this.state === "synced" || this.state === "absent";
  }

  /** Since the API server gave a sign that what is known is up to date. */
  get unheardMs(): number {
    return this.#now() - this.#heardAt;
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

  /** Resolves when it is known what there is, or that it may not be read. */
  get settled(): Promise<void> {
    return this.#settled.promise;
  }

  /** Resolves after the first attempt to read it, also where that has failed. */
  get tried(): Promise<unknown> {
    return Promise.race([this.#settled.promise, this.#tried.promise]);
  }

  /** Of the last attempt; undefined while it is followed, or absent. */
  get problem(): string | undefined {
    return this.#problem;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#settled.resolve();
    await Promise.all([this.#follower.stop(), this.#running]);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    const { againMs, locate, locateAgainMs = 4_000 } = this.#options;
    while (!signal.aborted) {
      await this.#follow().catch((error: unknown) => {
        if (signal.aborted) return;
        if (hasStatus(error, 404)) return this.#isAbsent();
        // Known objects are kept, since old knowledge is better than none.
        if (hasStatus(error, 401, 403)) this.#state = "refused";
        if (this.#state !== "waiting") this.#settled.resolve();
        this.#tried.resolve();
        this.#problem = messageOf(error);
        if (this.#state !== "absent") this.#options.onProblem(this.name, error);
      });
      const isAbsent = this.#state === "absent";
      const pause = isAbsent && locate ? locateAgainMs : (againMs ?? (isAbsent ? 60_000 : 2_000));
      await delay(pause * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined);
    }
  }

  /** A resource type that is gone has no objects. */
  #isAbsent(): void {
    this.#follower.forgetAll();
    this.#state = "absent";
    this.#problem = undefined;
    this.#settled.resolve();
  }

  /** @returns where there is nothing to follow. @throws when it cannot go on. */
  async #follow(): Promise<void> {
    const { locate, path } = this.#options;
    const place = locate ? await locate() : path;
    if (place === undefined) return this.#isAbsent();
    this.#follower.path = place;
    const failed = Promise.withResolvers<never>();
    this.#onFailure = failed.reject;
    await this.#follower.start();
    this.#state = "synced";
    this.#problem = undefined;
    this.#settled.resolve();
    await orAborted(failed.promise, this.#stopping.signal);
  }
}

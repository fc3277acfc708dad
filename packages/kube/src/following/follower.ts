import { setTimeout as delay } from "node:timers/promises";
import { ApiFailure, isExpired } from "../answer.ts";
import type { KubernetesClient } from "../client.ts";
import { KubernetesError } from "../errors.ts";
import { LineReader } from "../line-reader.ts";
import { isObject, type KubernetesObject } from "../objects.ts";
import { Quota, type QuotaOptions } from "./quota.ts";

/** One change of an object, in the order in which the API server made them. */
export interface Change<T> {
  readonly type: "there" | "gone";
  readonly object: T;
  /** When it was seen (Date.now()). */
  readonly at: number;
  /** Reported by the watch at once. Otherwise it was found in a list, and may have happened at any time since `since`. */
  readonly live: boolean;
  /** When the object, or its absence, was last known to be otherwise; for what is live the same as `at`. */
  readonly since: number;
}

/** Irregularities of the watch, for tests and reports. */
export interface FollowCounts {
  /** Watches that ended otherwise than by their time, or could not be opened. */
  readonly interrupted: number;
  /** 410 Gone: the place where the watch had been was forgotten by the API server. */
  readonly expired: number;
  /** Lists after the first. */
  readonly lists: number;
  readonly bookmarks: number;
}

interface WatchLine<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: T & { readonly code?: number; readonly message?: string };
}

/** A watch is renewed after this time, so that a connection that died in silence is noticed soon after. */
const usualRenewalSeconds = 30;
const pageSize = 500;
const firstPauseMs = 100;
const longestPauseMs = 2_000;
/** An API server that only refuses for this long is believed. */
const longestRefusalMs = 30_000;
/** For all pages of a list. */
const longestListMs = 120_000;
/** The first list is begun anew this often when its pages expire in the middle. */
const firstLists = 5;
/** After this many watches in a row that broke off without an event, objects are listed again and again instead. */
const mostSilent = 5;
const longestLineBytes = 50_000_000;

export interface FollowerOptions<T> {
  /** "/api/v1/namespaces/shop/pods" */
  readonly path: string;
  /** labelSelector and the like. */
  readonly query?: Readonly<Record<string, string>>;
  readonly onChange: (change: Change<T>) => void;
  /**
   * The part of an object that is kept: the rest would fill the memory. It must hold `metadata.uid` and `metadata.resourceVersion`. An
   * object of which nothing is kept counts as absent.
   */
  readonly keep?: (object: T) => T | undefined;
  /** How much is kept of the objects of one namespace; all of them unless given. */
  readonly quota?: QuotaOptions<T>;
  /** The follower cannot go on: credentials are no longer accepted, permission was withdrawn, or the resource does not exist. */
  readonly onFailure: (error: Error) => void;
  /**
   * The watch is renewed after this time. Default: 30. The API server sends a bookmark before that. So this bounds how long a watch that
   * works is silent.
   */
  readonly renewalSeconds?: number;
  /** Called at each sign that what is known is up to date: a list, a line of the watch, or its end in time. */
  readonly onHeard?: (() => void) | undefined;
  /** A refusal (401, 403, 404) is believed after this time. Default: 30,000. */
  readonly refusalMs?: number;
  /** Only the list is read, for who wants to know how things are now. */
  readonly isListOnly?: boolean;
}

/**
 * Follows one collection by list and watch: from the list's resourceVersion, on by bookmarks, again from the last place after an interruption,
 * and from a new list after 410. From a new list only the differences are reported, so that listeners see one history.
 */
export class Follower<T extends KubernetesObject> {
  readonly #client: KubernetesClient;
  readonly #options: FollowerOptions<T>;
  readonly #stop = new AbortController();
  readonly #known = new Map<string, T>();
  #quota: Quota<T>;
  #counts = { interrupted: 0, expired: 0, lists: 0, bookmarks: 0 };
  #version = "";
  #lastHeard = Date.now();
  #silent = 0;
  #refusedFrom: number | undefined;
  #following: Promise<void> = Promise.resolve();
  /** Before a start it may be set to where the same collection is now. */
  path: string;

  constructor(client: KubernetesClient, options: FollowerOptions<T>) {
    this.#client = client;
    this.#options = options;
    this.path = options.path;
    this.#quota = new Quota(options.quota);
  }

  get counts(): FollowCounts {
    return this.#counts;
  }

  get objects(): readonly T[] {
    return [...this.#known.values()];
  }

  get size(): number {
    return this.#known.size;
  }

  /** Resolves after the first list. After a failure it may be started again. @throws {KubernetesError} when the list fails. */
  async start(): Promise<void> {
    for (let attempt = 1; ; attempt++)
      try {
        await this.#list();
        break;
      } catch (error) {
        if (!isExpired(error) || attempt >= firstLists) throw error;
        await delay(firstPauseMs, undefined, { signal: this.#stop.signal });
      }
    this.#counts.lists = 0;
    this.#silent = 0;
    this.#refusedFrom = undefined;
    if (this.#options.isListOnly !== true) this.#following = this.#follow();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#following;
  }

  /** The collection does not exist any more. */
  forgetAll(): void {
    this.#adopt([], this.#lastHeard);
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    let pause = firstPauseMs;
    while (!signal.aborted) {
      try {
        const from = this.#version;
        if (from === "") await this.#list();
        await this.#watch();
        if (this.#quota.isOutdated) this.#version = "";
        pause = firstPauseMs;
        this.#refusedFrom = undefined;
      } catch (error) {
        if (signal.aborted) return;
        if (this.#isRefusedForGood(error)) {
          this.#options.onFailure(error as ApiFailure);
          return;
        }
        if (isExpired(error)) {
          this.#counts.expired++;
          this.#version = "";
        } else this.#counts.interrupted++;
        if (++this.#silent > mostSilent) this.#version = "";
        // Jitter, so that several watches do not come back at one moment.
        await delay(pause * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined);
        pause = Math.min(pause * 2, longestPauseMs);
      }
    }
  }

  /** An API server that has just started forbids everything until it knows its roles: only what lasts is meant. */
  #isRefusedForGood(error: unknown): boolean {
    const refused = error instanceof ApiFailure && [401, 403, 404].includes(error.status);
    this.#refusedFrom = refused ? (this.#refusedFrom ?? Date.now()) : undefined;
    const { refusalMs = longestRefusalMs } = this.#options;
    return this.#refusedFrom !== undefined && Date.now() - this.#refusedFrom > refusalMs;
  }

  async #list(): Promise<void> {
    const since = this.#lastHeard;
    const items: T[] = [];
    let quota = new Quota(this.#options.quota);
    let version = "";
    let more: string | undefined;
    const until = Date.now() + longestListMs;
    do {
      let tried = quota;
      const page = await this.#client.page<T>(
        this.#path({ limit: String(pageSize), ...(more === undefined ? {} : { continue: more }) }),
        () => {
          tried = quota.copy();
          return (object) => this.#listed(object, tried);
        },
        this.#stop.signal,
      );
      const { resourceVersion } = page.metadata;
      if (typeof resourceVersion !== "string") throw this.#senseless("a list without its resourceVersion");
      if (Date.now() > until) throw this.#senseless("a list that does not end");
      quota = tried;
      for (const item of page.items) items.push(item);
      version = resourceVersion;
      more = page.metadata.continue || undefined;
    } while (more !== undefined);
    this.#counts.lists++;
    this.#quota = quota;
    this.#adopt(items, since);
    this.#options.quota?.onListed?.(quota.full);
    this.#version = version;
    this.#heard(Date.now());
  }

  #heard(at: number): void {
    this.#lastHeard = at;
    this.#options.onHeard?.();
  }

  #adopt(items: readonly T[], since: number): void {
    const at = Date.now();
    const listed = new Set(items.map(({ metadata }) => metadata.uid));
    for (const [uid, object] of this.#known)
      if (!listed.has(uid)) {
        this.#known.delete(uid);
        this.#options.onChange({ type: "gone", object, at, live: false, since });
      }
    for (const object of items) {
      const known = this.#known.get(object.metadata.uid);
      if (known && known.metadata.resourceVersion === object.metadata.resourceVersion) continue;
      this.#known.set(object.metadata.uid, object);
      this.#options.onChange({ type: "there", object, at, live: false, since });
    }
  }

  async #watch(): Promise<void> {
    const seconds = this.#options.renewalSeconds ?? usualRenewalSeconds;
    const silence = new AbortController();
    // The server ends the watch by itself; a connection that outlives that is dead without an error. A client that got no end has to check.
    const timer = setTimeout(
      () => {
        this.#version = "";
        silence.abort();
      },
      (seconds + 10) * 1_000,
    );
    const began = Date.now();
    const signal = AbortSignal.any([this.#stop.signal, silence.signal]);
    try {
      const response = await this.#client.stream(
        this.#path({
          watch: "true",
          allowWatchBookmarks: "true",
          timeoutSeconds: String(seconds),
          resourceVersion: this.#version,
        }),
        signal,
      );
      const reader = new LineReader(longestLineBytes);
      for await (const chunk of response as AsyncIterable<Buffer>) {
        const at = Date.now();
        const lines = reader.take(chunk);
        if (lines === undefined) throw this.#senseless("a line that does not end");
        for (const line of lines) if (line !== "") this.#take(JSON.parse(line) as WatchLine<T>, at);
      }
      this.#heard(Date.now());
      // A server that closes watches as soon as they are open must not be asked as fast as it can answer.
      if (Date.now() - began < (seconds * 1_000) / 2) throw new Error("the watch ended before its time");
    } finally {
      clearTimeout(timer);
    }
  }

  #listed(object: unknown, quota: Quota<T>): T | undefined {
    if (!isObject(object)) throw this.#senseless("a list of objects without names");
    const kept = this.#kept(object as T);
    return kept !== undefined && quota.take(kept) ? kept : undefined;
  }

  #kept(object: T): T | undefined {
    const { keep } = this.#options;
    return keep ? keep(object) : object;
  }

  #take({ type, object: received }: WatchLine<T>, at: number): void {
    if (type === "ERROR") throw new ApiFailure(this.path, received.code ?? 500, "", received.message ?? "");
    if (!isObject(received) && type !== "BOOKMARK") throw this.#senseless("an object without a name");
    this.#heard(at);
    this.#silent = 0;
    this.#version = received.metadata.resourceVersion ?? this.#version;
    if (type === "BOOKMARK") {
      this.#counts.bookmarks++;
      return;
    }
    const kept = this.#kept(received);
    const { uid } = (kept ?? received).metadata;
    const known = this.#known.get(uid);
    if (known) this.#quota.free(known);
    const isThere = type !== "DELETED" && kept !== undefined && this.#quota.take(kept);
    if (!known && kept && (isThere || type === "DELETED")) this.#quota.newsOfUnknown(kept);
    const object = kept ?? known;
    if (object === undefined) return;
    if (isThere) this.#known.set(uid, object);
    else this.#known.delete(uid);
    this.#options.onChange({ type: isThere ? "there" : "gone", object, at, live: true, since: at });
  }

  #senseless(what: string): KubernetesError {
    return new KubernetesError("LAMEDUCK_API_REFUSED", this.path, `the answer is ${what}`);
  }

  #path(parameters: Readonly<Record<string, string>>): string {
    return `${this.path}?${new URLSearchParams({ ...this.#options.query, ...parameters }).toString()}`;
  }
}

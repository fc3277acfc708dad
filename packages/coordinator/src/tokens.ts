import { createHash } from "node:crypto";
import type { KubernetesClient } from "@lameduck/kube";
import { operatorNames } from "@lameduck/protocol";
import { isLoopback } from "@lameduck/program";
import { RefusedAddresses } from "./refused-addresses.ts";

/** The identity behind a token, as the API server reviewed it. */
export interface Identity {
  /** "NAMESPACE/NAME" of the ServiceAccount. */
  readonly account: string;
  /** Of the pod that the token is bound to. */
  readonly podUid: string | undefined;
  /** Node of that pod; API servers before 1.30 leave it out. */
  readonly node: string | undefined;
  /** When the token is reviewed again, milliseconds since 1970. */
  readonly until: number;
}

interface Refusal {
  readonly refused: true;
  readonly until: number;
}

interface Review {
  readonly status?: {
    readonly authenticated?: boolean;
    readonly audiences?: readonly string[];
    readonly user?: {
      readonly username?: string;
      readonly extra?: Readonly<Record<string, readonly string[]>>;
    };
  };
}

/** Longer than any token that the API server issues for a pod. */
const longestToken = 8_192;
/** A refused token is not reviewed again for so long. */
const refusalLifetimeMs = 10_000;
/** A token without an expiry is reviewed again after this time. */
const defaultLifetimeMs = 300_000;
/** Any token is reviewed again after this time: its ServiceAccount may be gone. */
const longestLifetimeMs = 3_600_000;
const most = 30_000;
/** Concurrent reviews. When this process starts, all nodes send their tokens at once. */
const concurrentReviews = 32;
/** Concurrent reviews of one address, and how many more of its requests may wait for a review. */
const concurrentOfAddress = 8;
const waitingOfAddress = 200;

/** Reviews each token once with the API server (TokenReview). */
export class Tokens {
  readonly #client: KubernetesClient;
  readonly #now: () => number;
  readonly #onReview: (outcome: "accepted" | "refused" | "failed") => void;
  readonly #known = new Map<string, Identity | Refusal>();
  readonly #asking = new Map<string, Promise<Identity | undefined>>();
  readonly #reviews = new KeyedSemaphore(concurrentReviews);
  readonly #reviewsOfAddress = new KeyedSemaphore(concurrentOfAddress, waitingOfAddress);
  readonly #refused: RefusedAddresses;

  constructor(
    client: KubernetesClient,
    {
      now,
      onReview,
    }: {
      readonly now: () => number;
      readonly onReview: (outcome: "accepted" | "refused" | "failed") => void;
    },
  ) {
    this.#client = client;
    this.#now = now;
    this.#refused = new RefusedAddresses(now);
    this.#onReview = onReview;
  }

  /** @param peer the client's address. @returns undefined where it is refused. @throws where the API server does not answer. */
  async identityOf(token: string, peer: string): Promise<Identity | undefined> {
    if (token.length > longestToken || !/^[\w.~+/=-]+$/.test(token)) return undefined;
    // The tokens themselves are not kept.
    const key = createHash("sha256").update(token).digest("base64");
    const find = (): Promise<Identity | undefined> => this.#find(key, token, peer);
    return this.#remembered(key) || isLoopback(peer) ? find() : this.#reviewsOfAddress.take(peer, find);
  }

  async #find(key: string, token: string, peer: string): Promise<Identity | undefined> {
    const known = this.#remembered(key);
    if (known) return "refused" in known ? undefined : known;
    if (this.#refused.isBlocked(peer)) return undefined;
    const asking = this.#asking.get(key) ?? this.#reviews.take("", () => this.#ask(key, token));
    this.#asking.set(key, asking);
    const identity = await asking.finally(() => this.#asking.delete(key));
    if (!identity) this.#refused.countRefusal(peer);
    return identity;
  }

  #remembered(key: string): Identity | Refusal | undefined {
    const known = this.#known.get(key);
    return known && known.until > this.#now() ? known : undefined;
  }

  async #ask(key: string, token: string): Promise<Identity | undefined> {
    try {
      const review = await this.#client.post<Review>("/apis/authentication.k8s.io/v1/tokenreviews", {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenReview",
        spec: { token, audiences: [operatorNames.coordinator.audience] },
      });
      const identity = this.#identityIn(review, token);
      this.#onReview(identity ? "accepted" : "refused");
      this.#remember(key, identity ?? { refused: true, until: this.#now() + refusalLifetimeMs });
      return identity;
    } catch (error) {
      this.#onReview("failed");
      throw error;
    }
  }

  #identityIn({ status = {} }: Review, token: string): Identity | undefined {
    const { authenticated, audiences = [], user } = status;
    const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user?.username ?? "");
    // An API server without support for audiences names none, and its review proves nothing here.
    if (authenticated !== true || !audiences.includes(operatorNames.coordinator.audience) || !account)
      return undefined;
    const bound = (key: string): string | undefined =>
      user?.extra?.[`authentication.kubernetes.io/${key}`]?.[0];
    return {
      account: `${account[1]}/${account[2]}`,
      podUid: bound("pod-uid"),
      node: bound("node-name"),
      until: Math.min(endOf(token) ?? this.#now() + defaultLifetimeMs, this.#now() + longestLifetimeMs),
    };
  }

  #remember(key: string, known: Identity | Refusal): void {
    this.#known.delete(key);
    this.#known.set(key, known);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= most) break;
      this.#known.delete(oldest);
    }
  }
}

/** When a token ends that the API server has accepted: its `exp`, in milliseconds. */
function endOf(token: string): number | undefined {
  try {
    const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as {
      readonly exp?: unknown;
    };
    return typeof claims.exp === "number" ? claims.exp * 1_000 : undefined;
  } catch {
    return undefined;
  }
}

interface Queue {
  running: number;
  readonly waiting: (() => void)[];
}

/** Lets so much work of one key be under way at a time. The rest waits in turn. */
class KeyedSemaphore {
  readonly #atOnce: number;
  readonly #mostWaiting: number;
  readonly #queues = new Map<string, Queue>();

  constructor(atOnce: number, mostWaiting = Infinity) {
    this.#atOnce = atOnce;
    this.#mostWaiting = mostWaiting;
  }

  /** @returns undefined where too much of this key waits already. */
  async take<T>(key: string, work: () => Promise<T>): Promise<T | undefined> {
    const own = this.#queues.get(key) ?? { running: 0, waiting: [] };
    this.#queues.set(key, own);
    if (own.running < this.#atOnce) own.running++;
    else if (own.waiting.length >= this.#mostWaiting) return undefined;
    // Work that ends hands its turn over.
    else await new Promise<void>((resolve) => own.waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = own.waiting.shift();
      if (next) next();
      else if (--own.running === 0) this.#queues.delete(key);
    }
  }
}

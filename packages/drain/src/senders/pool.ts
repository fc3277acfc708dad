import type { LearntHabit } from "../belief/evidence.ts";
import { Gaps } from "./gaps.ts";

/**
 * Connections that were asked to leave are made again. A balancer of connections spreads them over all pods: with two pods about one comes back
 * here for each that was asked, with more pods fewer. More than one and a half times as many, and some by chance, come only from a sender that
 * sends every request here.
 */
const mostCameBack = 1.5;
const byChance = 5;

/** Requests within this time count as one: they load one page, and show no habit. */
const togetherMs = 50;

/**
 * What a sender did since the hold began on connections from before it, and after some of them were asked to close.
 * A sender that chooses a pod for each request (an ingress) falls silent on all of them when it lets go of the pod. A sender that chooses a
 * pod for each connection (kube-proxy) falls silent only when they are asked to close. The kind of a sender cannot be seen. But silence on
 * a connection that was not asked to close is unlikely, unless the sender chooses for each request and has let go.
 */
export class Pool {
  /** Time of the last request on a connection that was not asked to close. */
  last = 0;
  #requests = 0;
  /** Time of the first request of a group that counts as one, and the gaps between such groups. */
  #burstAt = 0;
  readonly #gaps = new Gaps();
  /** How many of the requests came on connections that have since been asked to close. The silence of those connections is our doing. */
  #left = 0;
  #asked = 0;
  /**
   * New connections since the first was asked to close. Their gaps count since the latest was asked to close: until then older connections
   * are still used.
   */
  #cameBack = 0;
  #back = new Gaps();
  #backAt = 0;

  request(at: number): void {
    const first = this.#requests === 0;
    this.#requests++;
    this.last = first ? at : Math.max(this.last, at);
    if (first) this.#burstAt = at;
    const gap = at - this.#burstAt;
    if (gap < togetherMs) return;
    this.#gaps.add(gap, true);
    this.#burstAt = at;
  }

  /** A connection that made `requests` of the requests is asked to close. */
  asked(requests: number, at: number): void {
    this.#back = new Gaps();
    this.#backAt = at;
    this.#asked++;
    this.#left += requests;
  }

  /** The sender made a new connection. */
  connection(at: number): void {
    if (this.#asked === 0) return;
    this.#cameBack++;
    this.#back.add(Math.max(0, at - this.#backAt), true);
    this.#backAt = Math.max(this.#backAt, at);
  }

  /** The habit of requests on connections that were not asked to close; undefined where too few are left. */
  get habit(): LearntHabit | undefined {
    const kept = 1 - this.#left / this.#requests;
    return this.#gaps.count * kept >= 1 ? this.#gaps.habit(0, kept) : undefined;
  }

  /** The gaps between new connections that replace requests; undefined where a balancer of connections would bring as many. */
  get returning(): Gaps | undefined {
    const enough = mostCameBack * this.#asked + byChance;
    return this.#back.count >= byChance && this.#cameBack >= enough ? this.#back : undefined;
  }
}

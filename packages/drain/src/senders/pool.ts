import type { LearntHabit } from "../belief/evidence.ts";
import { Gaps } from "./gaps.ts";

/**
 * A balancer of connections brings those that were asked to leave back to any of the pods: here about once for each of them if there are but two
 * pods, and seldom where there are more. Half as many again, and some by chance, come only from one that sends every request here.
 */
const mostCameBack = 1.5;
const byChance = 5;

/** Requests so close together are one: a page's, not the habit of a sender that goes on. */
const togetherMs = 50;

/**
 * What a sender did since the hold began on connections of before, and after some of them were asked to close.
 *
 * A sender that chooses a pod for each request (an ingress) falls silent on all of them when it lets go of the pod; one that chooses for each
 * connection (kube-proxy) never does, until they are asked to close. Which it is cannot be seen. But as long as a connection is not asked, its silence
 * is unlikely unless it is the former and has let go.
 */
export class Pool {
  /** Of the last request on a connection that was not asked. */
  last = 0;
  #requests = 0;
  /** When the latest of those that count as one began, and the gaps between them. */
  #burstAt = 0;
  readonly #gaps = new Gaps();
  /** Of those requests, how many came on connections that have since been asked: their silence is our doing. */
  #left = 0;
  #asked = 0;
  /** New connections since the first was asked; and their gaps since the latest was, for until then others are still used. */
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

  /** A connection that made so many of the requests is asked to close. */
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

  /** Of requests on connections that were not asked; undefined where too few are left to have one. */
  get habit(): LearntHabit | undefined {
    const kept = 1 - this.#left / this.#requests;
    return this.#gaps.count * kept >= 1 ? this.#gaps.habit(0, kept) : undefined;
  }

  /** Between new connections in the place of requests; undefined where they are no more than a balancer of connections brings. */
  get returning(): Gaps | undefined {
    const enough = mostCameBack * this.#asked + byChance;
    return this.#back.count >= byChance && this.#cameBack >= enough ? this.#back : undefined;
  }
}

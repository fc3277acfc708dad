import { LearntHabit } from "../belief/evidence.ts";
import type { Pool } from "./pool.ts";

/** Habits older than this fade: traffic of last night says little about this minute. */
export const horizon = 120_000;

/** What is kept of one sender. Times in milliseconds. */
export interface Sender {
  last: number;
  /** The same by the clock that goes on while nothing can be seen. */
  lastAt: number;
  /** Gaps between arrivals, and their sum; halved together at the horizon. */
  gaps: number;
  exposure: number;
  longestGap: number;
  previousLongestGap: number;
  /** Mean of the latest gaps, the latest counting most. */
  recentGap: number;
  /** Per millisecond, where told. */
  rate: number | undefined;
  /** Its connections of before the hold; undefined until one is used. */
  pool: Pool | undefined;
}

export function newSender(seen: number, at: number): Sender {
  return {
    last: seen,
    lastAt: at,
    gaps: 0,
    exposure: 0,
    longestGap: 0,
    previousLongestGap: 0,
    recentGap: 0,
    rate: undefined,
    pool: undefined,
  };
}

export function meet(sender: Sender, seen: number, at: number): void {
  sender.pool?.connection(at);
  if (Number.isFinite(sender.lastAt)) {
    const gap = Math.max(0, at - sender.lastAt);
    sender.gaps++;
    sender.exposure += gap;
    sender.longestGap = Math.max(sender.longestGap, gap);
    sender.recentGap = sender.gaps === 1 ? gap : sender.recentGap + recency * (gap - sender.recentGap);
    if (sender.exposure > horizon) {
      sender.gaps /= 2;
      sender.exposure /= 2;
      sender.previousLongestGap = sender.longestGap;
      sender.longestGap = 0;
    }
  }
  sender.last = Math.max(sender.last, seen);
  sender.lastAt = Math.max(sender.lastAt, at);
}

/** Weight of the latest gap in the mean of recent ones: some 15 of them count. */
const recency = 1 / 8;

export function longestGapOf(sender: Sender): number {
  return Math.max(sender.longestGap, sender.previousLongestGap);
}

/**
 * A sender whose silence before the deletion had a chance of 1e-9 had left by itself. One of long standing has left for good; else it was a visit,
 * as a burst is, and others like it will come.
 */
export function hasLeft(sender: Sender, idle: number): boolean {
  const { gaps, exposure } = sender;
  return gaps > 0 && new LearntHabit(gaps, exposure, longestGapOf(sender)).surprise(idle) > leftSurprise;
}

const leftSurprise = -Math.log(1e-9);

/** It has sent for longer than the horizon. */
export function isOfLongStanding(sender: Sender): boolean {
  return sender.previousLongestGap > 0;
}

import { type Basis, usedOf } from "@lameduck/protocol";
import type { Consumer } from "../consumer.ts";
import { UnusedFor } from "../consumers/unused-for.ts";
import type { CallBudget } from "./call-budget.ts";

/** Between two reads of a group that has a pod which is waited for. */
const soonMs = 2_000;
/** Between two reads of another group, for each group there is: where there are 200, each is read in two minutes. */
const perGroupMs = 600;
/** Between two reads of a group of which only time is waited for. */
const ofTimeMs = 10_000;
const longestPauseMs = 60_000;
/** For so long an address that was used counts as the group's: it may drain before anybody asks for it. */
const rememberedMs = 600_000;
/** Between two questions of the poller: most cost no call. */
const askedEveryMs = 500;

/** What is read of a cloud's group of addresses. */
export interface GroupReading {
  readonly used: ReadonlySet<string>;
  /** For so long the load balancer may send to an address after the group has let go of it. */
  readonly sendsOnMs: number;
  readonly basis: Basis;
  /** Why, for people. */
  readonly reason?: string;
}

/**
 * A group that is read by calls which are counted. An address counts as used until a read that began after it was asked for does not
 * have it. Groups that have such an address are read first.
 * @param read makes the calls; each takes from the budget.
 */
export function cloudGroup(
  { name: kind }: { readonly name: string },
  read: (isUrgent: boolean, signal: AbortSignal) => Promise<GroupReading>,
  calls: CallBudget,
  now: () => number = () => performance.now(),
): Consumer {
  let last: (GroupReading & { readonly began: number }) | undefined;
  let failure: { readonly error: unknown; readonly count: number; readonly at: number } | undefined;
  let unused: UnusedFor | undefined;
  let isWaiting = false;
  /** When each address was last read as used. */
  const own = new Map<string, number>();

  const look = async (isUrgent: boolean, signal: AbortSignal): Promise<GroupReading> => {
    try {
      const began = now();
      const reading = await read(isUrgent, signal);
      failure = undefined;
      last = { ...reading, began };
      for (const address of reading.used) own.set(address, began);
      for (const [address, at] of own) if (began - at > rememberedMs) own.delete(address);
      return reading;
    } catch (error) {
      if (!signal.aborted) failure = { error, count: (failure?.count ?? 0) + 1, at: now() };
      throw error;
    }
  };
  const isDue = (least: number): boolean => {
    if (failure) return now() - failure.at >= Math.min(longestPauseMs, soonMs * 2 ** (failure.count - 1));
    return last === undefined || now() - last.began >= least;
  };
  return {
    kind,
    every: askedEveryMs,
    pacesItself: true,
    get basis() {
      return last?.basis ?? "state";
    },
    stillUsed: async (addresses, signal) => {
      const isNamed = addresses.some((one) => own.has(one));
      const least = Math.max(soonMs, perGroupMs * calls.groups);
      if (!isDue(isNamed ? soonMs : isWaiting ? Math.min(ofTimeMs, least) : least)) {
        if (failure) throw failure.error;
        return new Set(addresses);
      }
      const { used, sendsOnMs } = await look(isNamed || isWaiting, signal);
      const inUse = usedOf(addresses, used);
      // Who asks for no address only wants to know whether it can be read.
      if (sendsOnMs === 0 || addresses.length === 0) return inUse;
      unused ??= new UnusedFor(sendsOnMs, now);
      const held = unused.usedOf(addresses, inUse);
      isWaiting = inUse.size === 0 && held.size > 0;
      return held;
    },
    reason: () => (isWaiting ? last?.reason : undefined),
    rest: () => (isWaiting = false),
  };
}

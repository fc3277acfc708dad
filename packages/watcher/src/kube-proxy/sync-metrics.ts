import { isIPv6 } from "node:net";
import { askHttp } from "../consumers/ask.ts";
import { kubeProxy as facts } from "@lameduck/senders";
import { unreadable, type Consumer } from "../consumer.ts";

/** kube-proxy's metrics of its syncs for one address family. Times in seconds since 1970, by the node's clock. */
export interface Syncs {
  /** Syncs that have finished, also failed ones. */
  readonly finished: number;
  /** The end of the last sync that succeeded. */
  readonly lastFinished: number;
  readonly lastQueued: number;
  /** Changes that kube-proxy has seen, and no sync has taken up. */
  readonly pending: number;
}

const metric = /^kubeproxy_sync_proxy_rules_(\w+?)(?:\{([^}]*)\})? (\S+)$/gm;

const names = {
  duration_seconds_count: "finished",
  last_timestamp_seconds: "lastFinished",
  last_queued_timestamp_seconds: "lastQueued",
  endpoint_changes_pending: "pending",
} as const;

/** @throws {OperatorError} where the text holds no such figures. */
export function readSyncs(text: string, family: "IPv4" | "IPv6", place: string): Syncs {
  const found: { -readonly [Key in keyof Syncs]?: number } = {};
  for (const [, name = "", labels = "", value = ""] of text.matchAll(metric)) {
    const key = Object.hasOwn(names, name) ? names[name as keyof typeof names] : undefined;
    const of = /ip_family="(\w+)"/.exec(labels)?.[1];
    // Before 1.34 there are no families.
    if (key === undefined || (of !== undefined && of !== family)) continue;
    const number = Number(value);
    if (!Number.isFinite(number) || number < 0) throw unreadable(place, `${name} is no number`);
    found[key] = number;
  }
  const { finished, lastFinished, lastQueued, pending } = found;
  if (
    finished === undefined ||
    lastFinished === undefined ||
    lastQueued === undefined ||
    pending === undefined
  )
    throw unreadable(place, `it shows no syncs of kube-proxy for ${family}`);
  return { finished, lastFinished, lastQueued, pending };
}

/** The syncs since an address was asked about first. */
interface Asked {
  /** Seconds since 1970. */
  readonly at: number;
  /** Seconds, by a clock that nobody sets. */
  readonly clock: number;
  /** Finished syncs, as of the last look. */
  readonly finished: number;
  readonly lastFinished: number;
  /** Syncs that have succeeded since the address was first asked about, as far as looks have seen them. */
  readonly succeeded: number;
}

/** Syncs that must succeed after we learn of a change. The first one may have begun before the change. The second one began after it. */
const syncsAfter = 2;
/** Seconds by which kube-proxy's watch may be later than the coordinator's. */
const watchDelay = 2;
/** Seconds by which kube-proxy may have applied a change before we learn of it. */
const mayHaveAppliedBefore = 10;

/**
 * Whether a change may still be missing in kube-proxy's rules. The change is in the rules when two syncs have succeeded since we learnt of it. The
 * change is also in the rules when kube-proxy synced at about that time, has no pending change, and has had the time to see this change. A last
 * sync in the future is no evidence, because it shows that the node's clock was set.
 * @param waited seconds since we learnt of the change.
 */
export function mayBePending(
  { succeeded, at }: Pick<Asked, "succeeded" | "at">,
  syncs: Syncs,
  waited: number,
): boolean {
  if (succeeded >= syncsAfter) return false;
  const isIdle = syncs.pending === 0 && syncs.lastQueued <= syncs.lastFinished;
  const isRecent = syncs.lastFinished >= at - mayHaveAppliedBefore && syncs.lastFinished <= at + waited;
  return !(isIdle && waited >= watchDelay && isRecent);
}

/** kube-proxy counts a failed sync as finished, too. Only a successful sync changes the time of the last sync. */
function lookedAgain(
  before: Asked | undefined,
  { finished, lastFinished }: Syncs,
  now: Pick<Asked, "at" | "clock">,
): Asked {
  // A count that falls belongs to a restarted process.
  if (before === undefined || finished < before.finished)
    return { ...now, finished, lastFinished, succeeded: 0 };
  const succeeded = before.succeeded + (lastFinished === before.lastFinished ? 0 : 1);
  return { ...before, finished, lastFinished, succeeded };
}

/** kube-proxy, by its metrics. They are evidence, not proof: they do not say which changes its watch has delivered. */
export function syncMetrics(metrics: URL): Consumer {
  const url = new URL("/metrics", metrics);
  let known = new Map<string, Asked>();
  return {
    kind: facts.name,
    basis: "syncs",
    stillUsed: async (addresses, signal) => {
      const text = await askHttp(url, signal);
      const now = { at: Date.now() / 1_000, clock: performance.now() / 1_000 };
      const used = new Set<string>();
      const next = new Map<string, Asked>();
      for (const address of addresses.length === 0 ? ["0.0.0.0"] : addresses) {
        const syncs = readSyncs(text, isIPv6(address) ? "IPv6" : "IPv4", url.href);
        const asked = lookedAgain(known.get(address), syncs, now);
        next.set(address, asked);
        if (mayBePending(asked, syncs, now.clock - asked.clock)) used.add(address);
      }
      known = next;
      return used;
    },
  };
}

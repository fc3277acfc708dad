import { isIPv6 } from "node:net";
import { askHttp } from "../consumers/ask.ts";
import { unreadable, type Consumer } from "../consumers/consumer.ts";

/** kube-proxy's metrics of its syncs for one address family. Times in seconds since 1970, by the node's clock. */
export interface Syncs {
  readonly finished: number;
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

interface FirstAsked {
  /** Finished syncs at the first question about the address. */
  readonly finished: number;
  /** Seconds. */
  readonly at: number;
}

/** Syncs that must finish after we learn of a change: the first may have begun before the change, the second has not. */
const syncsAfter = 2;
/** Seconds by which kube-proxy's watch may be later than the coordinator's. */
const watchDelay = 2;
/** Seconds by which kube-proxy may have applied a change before we learn of it. */
const mayHaveAppliedBefore = 10;

/**
 * Whether kube-proxy may still not have applied a change. It has applied it when two syncs have finished since we learnt of it. It has also when it
 * synced at about that time, has no pending change, and has had the time to see this one.
 */
export function mayBePending({ finished, at }: FirstAsked, syncs: Syncs, now: number): boolean {
  if (syncs.finished >= finished + syncsAfter) return false;
  const isIdle = syncs.pending === 0 && syncs.lastQueued <= syncs.lastFinished;
  return !(isIdle && now - at >= watchDelay && syncs.lastFinished >= at - mayHaveAppliedBefore);
}

/** kube-proxy, by its metrics. They are evidence, not proof: they do not say which changes its watch has delivered. */
export function syncMetrics(metrics: URL): Consumer {
  const url = new URL("/metrics", metrics);
  let firstAsked = new Map<string, FirstAsked>();
  return {
    kind: "kube-proxy",
    basis: "syncs",
    stillUsed: async (addresses, signal) => {
      const { text } = await askHttp(url, signal);
      const now = Date.now() / 1_000;
      const used = new Set<string>();
      const next = new Map<string, FirstAsked>();
      for (const address of addresses.length === 0 ? ["0.0.0.0"] : addresses) {
        const syncs = readSyncs(text, isIPv6(address) ? "IPv6" : "IPv4", url.href);
        const before = firstAsked.get(address);
        // A count that falls belongs to a restarted process.
        const from =
          before === undefined || syncs.finished < before.finished
            ? { finished: syncs.finished, at: now }
            : before;
        next.set(address, from);
        if (mayBePending(from, syncs, now)) used.add(address);
      }
      firstAsked = next;
      return used;
    },
  };
}

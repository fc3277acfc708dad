import type { RequestRecord } from "@lameduck/accounting";

/**
 * How a client keeps connections. `lifo`: as Node's http.Agent, the latest first. `ring`: a fixed number of them, in turn. `go`: as Go's
 * http.Transport, the latest first, and what may be sent twice is sent again.
 */
export const clientKinds = ["lifo", "go", "ring"] as const;
export type ClientKind = (typeof clientKinds)[number];

/** One generator's share of the load; it lives in the network of one node, as its sender. Passed as JSON. */
export interface GeneratorPlan {
  /** The sender's name in the records. */
  readonly sender: string;
  /** Each gets its part of the requests. */
  readonly clients: readonly ClientKind[];
  readonly url: string;
  /** CLOCK_MONOTONIC at the start of the run, nanoseconds (RunClock.origin). */
  readonly origin: string;
  /** Requests per second, each on a connection of its own. */
  readonly newPerSecond: number;
  /** Requests per second on kept-alive connections. */
  readonly pooledPerSecond: number;
  /** Share of requests that take the app 300 ms. */
  readonly slowShare: number;
  readonly timeoutMs: number;
  /** Ends by itself then, whatever happens to who started it. */
  readonly maxSeconds: number;
  /** Servers are found by asking this DNS server for the URL's host name; without it by the system. */
  readonly dnsServer?: string;
  /** Asked for in place of the URL's host. */
  readonly host?: string;
  /** Requests are numbered from here, in a header that a proxy may log. */
  readonly firstNumber?: number;
  /** The load comes from so many addresses, the first of this range, instead of the machine's own. */
  readonly addresses?: ClientAddresses;
}

/** What a proxy's log calls a request, where its client has numbered it. */
export type Numbered = RequestRecord & { readonly request?: number; readonly client?: ClientKind };

export interface ClientAddresses {
  /** CIDR; the machine owns all of it. */
  readonly range: string;
  readonly count: number;
}

/** What a generator knows of the pod that a request went to, beside what the pod itself says: an address. */
export interface AddressKnown {
  /** A proxy's header. */
  readonly upstream?: string;
  /** Chosen by the client itself among those that the DNS gave, or by its node's kube-proxy, as the kernel remembers. */
  readonly chosen?: string;
}

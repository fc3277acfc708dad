import type { Duration } from "@lameduck/drain";

/** What all senders have. */
interface Common {
  /** Unique in the run, e.g. "node-1", "ingress-2". */
  readonly name: string;
  /** Source address of its connections to pods; a proxy listens on it, too. Loopback or 198.18.0.0/15. */
  readonly address?: string;
}

interface SimpleSpec extends Common {
  /**
   * `l4`: like kube-proxy, a random endpoint for each connection; established connections keep their pod. `l4-cut`: like an eBPF balancer
   * that cuts established connections to a pod when it converges. `client`: an in-cluster caller with a keep-alive pool for each pod,
   * which drops a withdrawn pod's connections once they are idle.
   */
  readonly kind: "l4" | "l4-cut" | "client";
}

/** How a cloud load balancer asks its targets. */
export interface HealthCheck {
  /** Path of an HTTP check (2xx and 3xx are healthy), default "/"; `null` asks for a TCP connection only. */
  readonly path?: string | null;
  /** Default 5 s. */
  readonly interval?: Duration;
  /** Default 2 s. */
  readonly timeout?: Duration;
  /** Failures in a row that take a target out, default 2. */
  readonly unhealthyThreshold?: number;
  /** Successes in a row that let it in, default 2. */
  readonly healthyThreshold?: number;
}

/** Like a cloud load balancer without a controller that reports deletions to it: it leaves after failed health checks. */
export interface HealthCheckedSpec extends Common {
  readonly kind: "health-checked";
  readonly check?: HealthCheck;
}

/** What all reverse proxies have. */
interface ProxyCommon extends Common {
  /** Other pods tried after a failure to connect. Default: none by our own proxy, 3 by HAProxy (the last to another server), all by nginx. */
  readonly retries?: number;
  /** Time the pod has for an answer, default 60 s. */
  readonly timeout?: Duration;
}

/** Like an ingress: a reverse proxy of our own, in a process of its own. */
export interface L7Spec extends ProxyCommon {
  readonly kind: "l7";
}

/** A real HAProxy, its servers changed through the runtime API. */
export interface HaproxySpec extends ProxyCommon {
  readonly kind: "haproxy";
  readonly binary?: string;
}

/** A real nginx, its configuration rewritten and reloaded. */
export interface NginxSpec extends ProxyCommon {
  readonly kind: "nginx";
  readonly binary?: string;
}

export type ProxySpec = L7Spec | HaproxySpec | NginxSpec;
export type DecidingSpec = SimpleSpec | HealthCheckedSpec;
export type SenderSpec = DecidingSpec | ProxySpec;
export type SenderKind = SenderSpec["kind"];

export const senderKinds = [
  "l4",
  "l4-cut",
  "client",
  "health-checked",
  "l7",
  "haproxy",
  "nginx",
] as const satisfies readonly SenderKind[];

export function isProxy(spec: SenderSpec): spec is ProxySpec {
  return spec.kind === "l7" || spec.kind === "haproxy" || spec.kind === "nginx";
}

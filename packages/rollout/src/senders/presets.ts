import { parseDuration } from "@lameduck/drain";

import { LoadError } from "../load/errors.ts";
import type { Delay } from "./delay.ts";

/** How senders learn that an endpoint has come or gone. */
export interface Propagation {
  readonly name: string;
  /** Where the numbers come from. */
  readonly source: string;
  /** What all senders wait for together: the EndpointSlice controller. */
  readonly shared: Delay;
  /** What each sender waits for by itself, for each pod. */
  readonly own: Delay;
  /** Least time between two applications by one sender, milliseconds: kube-proxy's minSyncPeriod, a reload limiter. 0 is none. */
  readonly spacing: number;
}

const nothing: Delay = { kind: "fixed", after: 0 };

/**
 * The controller usually answers within tens of milliseconds. When two updates of one Service meet it finds its informer cache out of
 * date and backs off 1, then 2, then 4 s (defaultSyncBackOff); seen 168 times in some 25 rollouts of 20 pods on Kubernetes 1.36:
 * 5-10 % of the withdrawals. How often the retry meets another conflict was not measured: a quarter is an assumption.
 */
const controller: Delay = {
  kind: "sum",
  parts: [
    { kind: "uniform", from: 5, to: 40 },
    { kind: "back-off", likelihood: 0.075, first: 1_000, again: 0.25, most: 3 },
  ],
};

const seconds = (from: number, to: number): Delay => ({
  kind: "uniform",
  from: from * 1_000,
  to: to * 1_000,
});

/** One named way of learning per row of published or documented numbers. */
export const presets = {
  instant: {
    name: "instant",
    source: "none: every sender learns at once, the shared part left out; for tests",
    shared: nothing,
    own: nothing,
    spacing: 0,
  },
  ebpf: {
    name: "ebpf",
    source:
      "GKE Dataplane V2 (Cilium), about 1,000 samples, scylladb/scylla-operator PR 1780: median 60 ms, p99 0.25 s",
    shared: controller,
    own: { kind: "lognormal", median: 60, share: 0.99, at: 250 },
    spacing: 0,
  },
  "idle-kube-proxy": {
    name: "idle-kube-proxy",
    source:
      "kubernetes pkg/proxy/runner/bounded_frequency_runner.go: at once when idle, else 1 s (minSyncPeriod) after the last sync ended; sync 0.1-0.3 s",
    shared: controller,
    own: { kind: "sum", parts: [{ kind: "fixed", after: 50 }, seconds(0.1, 0.3)] },
    spacing: 1_000,
  },
  "busy-iptables": {
    name: "busy-iptables",
    source:
      "GKE iptables under induced load, 1,430 samples, scylladb/scylla-operator PR 1780: 74.6 % < 2.27 s, 88.3 % < 4.54, 95.6 % < 6.81, 99.6 % < 9.1, max 22.7 s",
    shared: controller,
    own: {
      kind: "measured",
      points: [
        [0.746, 2_270],
        [0.883, 4_540],
        [0.956, 6_810],
        [0.996, 9_100],
        [1, 22_700],
      ],
    },
    spacing: 0,
  },
  "ingress-nginx": {
    name: "ingress-nginx",
    source:
      "ingress-nginx: sync limited to 0.3/s (0-3.3 s), then Lua workers re-read every second (rootfs/etc/nginx/lua/balancer.lua, PR 1800)",
    shared: controller,
    own: { kind: "sum", parts: [seconds(0, 3.3), seconds(0, 1)] },
    spacing: 0,
  },
  traefik: {
    name: "traefik",
    source: "Traefik kubernetes-ingress provider: providersThrottleDuration 2 s",
    shared: controller,
    own: seconds(0, 2),
    spacing: 0,
  },
  skipper: {
    name: "skipper",
    source: "Skipper (Zalando) polls the API every 3 s; zalando/skipper PR 988",
    shared: controller,
    own: seconds(0, 3),
    spacing: 0,
  },
  mesh: {
    name: "mesh",
    source:
      'Istio at Airbnb, "Improving Istio Propagation Delay": pilot_proxy_convergence_time p90 1.5 s; median 0.8 s assumed',
    shared: controller,
    own: { kind: "lognormal", median: 800, share: 0.9, at: 1_500 },
    spacing: 0,
  },
  alb: {
    name: "alb",
    source:
      "AWS ALB, IP targets, aws-load-balancer-controller issue 1064: 5 s of sleep not enough, 25 s lost nothing",
    shared: controller,
    own: seconds(5, 25),
    spacing: 0,
  },
  neg: {
    name: "neg",
    source: "GKE NEG, ingress-gce issue 583 and its documentation: up to 60 s of grace asked for",
    shared: controller,
    own: seconds(1, 60),
    spacing: 0,
  },
  nlb: {
    name: "nlb",
    source:
      "AWS NLB, IP targets, aws-load-balancer-controller issues 2366 and 3270: new connections for about 2 min",
    shared: controller,
    own: seconds(110, 130),
    spacing: 0,
  },
  dns: {
    name: "dns",
    source: "headless Service through CoreDNS: kubeadm's Corefile has ttl 30 and cache 30",
    shared: controller,
    own: { kind: "sum", parts: [seconds(0, 30), seconds(0, 30)] },
    spacing: 0,
  },
} as const satisfies Readonly<Record<string, Propagation>>;

export type PresetName = keyof typeof presets;

const range = /^(exactly\s+)?([\d.]+\s*[a-z]*)(?:\s*\.\.\s*([\d.]+\s*[a-z]*))?$/;

/**
 * A preset's name, a delay ("3s") or a uniform range ("1s..10s"). The controller's part is added to delays and ranges too, unless the
 * text begins with "exactly".
 * @throws {LoadError} LAMEDUCK_UNKNOWN_PROPAGATION, {DrainError} LAMEDUCK_BAD_DURATION.
 */
export function parsePropagation(text: string, option = "propagation"): Propagation {
  const name = text.trim();
  if (Object.hasOwn(presets, name)) return presets[name as PresetName];
  const match = range.exec(name);
  if (!match?.[2])
    throw new LoadError(
      "LAMEDUCK_UNKNOWN_PROPAGATION",
      option,
      `"${text}" is none of ${Object.keys(presets).join(", ")}, nor a delay, nor a range`,
    );
  const from = parseDuration(match[2], option);
  const to = match[3] === undefined ? from : parseDuration(match[3], option);
  if (to < from)
    throw new LoadError("LAMEDUCK_UNKNOWN_PROPAGATION", option, `the range "${text}" ends before it begins`);
  return {
    name,
    source: "given by the user",
    shared: match[1] === undefined ? controller : nothing,
    own: { kind: "uniform", from, to },
    spacing: 0,
  };
}

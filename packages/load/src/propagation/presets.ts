import type { Mechanism } from "./mechanism.ts";

/** How one kind of sender learns that a pod is gone, with the evidence for its numbers. */
export interface Preset {
  readonly summary: string;
  readonly source: string;
  readonly forwarder: Mechanism;
}

/** Drawn through the medians and maxima of the recorded runs, of which the single lags were not kept: good to some 20 %. */
function recorded(period: string, quantiles: readonly (readonly [number, number])[]): Preset {
  return {
    summary: `kube-proxy, minSyncPeriod ${period}, as recorded`,
    source:
      "recordings/kube-proxy.json: Kubernetes 1.36.3, five nodes, iptables and nftables, deletions, evictions and rollouts, with the API server, etcd or the kubelet stopped in some",
    forwarder: { kind: "delay", delay: { quantiles } },
  };
}

/**
 * Ways in which senders converge, from deletion to last use, each per sender. The lab draws delays from them, the simulator plays
 * their mechanisms. Published figures are of uneven quality: the sources say what they measured.
 */
export const presets = {
  instant: {
    summary: "every sender knows at once",
    source: "a control: nothing but the arrivals already under way can be lost",
    forwarder: { kind: "delay", delay: 1 },
  },
  ebpf: {
    summary: "eBPF data plane (Cilium, GKE Dataplane V2)",
    source:
      "scylladb/scylla-operator PR 1780: ~1,000 samples, 94.3 % < 83 ms, 98.0 % < 162 ms, 99.3 % < 241 ms",
    forwarder: { kind: "delay", delay: { lognormal: [60, 120] } },
  },
  "idle-kube-proxy": {
    summary: "kube-proxy in a small cluster, minSyncPeriod 1 s",
    source: "kubernetes pkg/proxy/runner/bounded_frequency_runner.go; sync of 0.1 to 0.3 s",
    forwarder: {
      kind: "periodic",
      watch: { lognormal: [30, 80] },
      every: 1_000,
      counted: "from-end",
      work: { uniform: [100, 300] },
    },
  },
  "busy-iptables": {
    summary: "kube-proxy iptables under load (GKE)",
    source:
      "scylladb/scylla-operator PR 1780: 1,430 samples of endpoint additions, 74.6 % < 2.27 s, 88.3 % < 4.54, 95.6 % < 6.81, 99.6 % < 9.1, max 22.7",
    forwarder: {
      kind: "delay",
      delay: {
        quantiles: [
          [0.746, 2_270],
          [0.883, 4_540],
          [0.956, 6_810],
          [0.996, 9_100],
          [1, 22_700],
        ],
      },
    },
  },
  "lagging-kube-proxy": {
    summary:
      "kube-proxy iptables, minSyncPeriod 10 s (the default of kubeadm's older versions, and of large clusters)",
    source:
      "measured on Kubernetes 1.36.3, 5 nodes: under a rollout's changes the time to convergence is uniform in (0, period)",
    forwarder: {
      kind: "periodic",
      watch: { lognormal: [30, 80] },
      every: 10_000,
      counted: "from-end",
      work: { uniform: [20, 200] },
      busy: true,
    },
  },
  "kube-proxy-1s": recorded("1 s", [
    [0.1, 100],
    [0.25, 450],
    [0.5, 830],
    [0.8, 915],
    [1, 1_213],
  ]),
  "kube-proxy-2s": recorded("2 s", [
    [0.1, 390],
    [0.5, 830],
    [0.8, 1_585],
    [0.95, 1_920],
    [1, 2_041],
  ]),
  "kube-proxy-5s": recorded("5 s", [
    [0.1, 1_135],
    [0.3, 1_765],
    [0.5, 3_835],
    [0.8, 4_515],
    [1, 4_837],
  ]),
  "kube-proxy-10s": recorded("10 s", [
    [0.1, 3_430],
    [0.3, 6_120],
    [0.5, 6_640],
    [0.8, 8_925],
    [1, 9_363],
  ]),
  "ingress-nginx": {
    summary: "ingress-nginx: at most 0.3 syncs a second, then Lua workers that look every second",
    source: "ingress-nginx rootfs/etc/nginx/lua/balancer.lua, PR 1800",
    forwarder: {
      kind: "periodic",
      watch: { lognormal: [30, 80] },
      every: 3_333,
      counted: "from-start",
      work: { uniform: [10, 50] },
      busy: true,
      dataPlane: { uniform: [0, 1_000] },
    },
  },
  traefik: {
    summary: "Traefik: providersThrottleDuration 2 s",
    source: "https://doc.traefik.io (kubernetes-ingress provider)",
    forwarder: {
      kind: "periodic",
      watch: { lognormal: [30, 80] },
      every: 2_000,
      counted: "from-start",
      work: { uniform: [5, 30] },
      busy: true,
    },
  },
  skipper: {
    summary: "Skipper: polls the API every 3 s",
    source: "zalando/skipper, kubernetes/ingress-backends: -source-poll-timeout 3000",
    forwarder: { kind: "poll", every: 3_000, work: { uniform: [10, 100] } },
  },
  mesh: {
    summary: "Istio sidecars",
    source: "Airbnb, pilot_proxy_convergence_time p90 1.5 s (1.11); debounce of 100 ms not counted in it",
    forwarder: { kind: "delay", delay: { sum: [100, { lognormal: [800, 1_500] }] } },
  },
  alb: {
    summary: "AWS Application Load Balancer, IP targets",
    source: "aws-load-balancer-controller issue 1064: 5 s not enough, 25 s enough",
    forwarder: { kind: "delay", delay: { uniform: [5_000, 25_000] } },
  },
  neg: {
    summary: "GKE container-native load balancing",
    source: "kubernetes/ingress-gce issues 583 and 769: up to a minute",
    forwarder: { kind: "delay", delay: { uniform: [1_000, 60_000] } },
  },
  nlb: {
    summary: "AWS Network Load Balancer, IP targets",
    source: "aws-load-balancer-controller issues 2366 and 3270: new connections for about 2 minutes",
    forwarder: { kind: "delay", delay: { uniform: [110_000, 130_000] } },
  },
  dns: {
    summary: "clients of a headless service: CoreDNS cache 30 s, then the client's own 30 s",
    source: "https://coredns.io/plugins/kubernetes; kubeadm Corefile: ttl 30, cache 30",
    forwarder: { kind: "delay", delay: { sum: [{ uniform: [0, 30_000] }, { uniform: [0, 30_000] }] } },
  },
} as const satisfies Record<string, Preset>;

export type PresetName = keyof typeof presets;

import type { Sender, SenderKind } from "./kind.ts";
import { watchDelay, type Preset } from "./preset.ts";
import { containerOf } from "./recognising.ts";

const ofNodes: Sender = {
  name: "kube-proxy",
  label: "kube-proxy",
  seconds: 10,
  because: "iptables takes 1 to 10 s on a busy node",
  knownBy: "any other Service",
};

/** Drawn through the medians and maxima of the recorded runs, of which the single lags were not kept: good to some 20 %. */
function recorded(period: string, quantiles: readonly (readonly [number, number])[]): Preset {
  return {
    summary: `kube-proxy, minSyncPeriod ${period}, as recorded`,
    source:
      "recordings/kube-proxy.json: Kubernetes 1.36.3, five nodes, iptables and nftables, deletions, evictions and rollouts, with the API server, etcd or the kubelet stopped in some",
    forwarder: { kind: "delay", delay: { quantiles } },
  };
}

export const kubeProxy = {
  name: "kube-proxy",
  serves: "node",
  consumer: {
    usage: "kube-proxy[=iptables|nftables|ipvs]",
    help: "the node's rules (in the mode that is found); kube-proxy=metrics[,URL]: its syncs",
    reads: [
      {
        form: "kube-proxy",
        what: "all of the three modes below, whichever has rules",
        letGoWhen: "none of them uses it",
      },
      {
        form: "kube-proxy=iptables",
        what: "`iptables-save -t nat`, tables of nftables and legacy ones",
        letGoWhen: "no chain of kube-proxy that is reached leads to a DNAT to it",
      },
      {
        form: "kube-proxy=nftables",
        what: "`nft list table ip kube-proxy`, and `ip6`",
        letGoWhen: "no chain that a hook reaches leads to a dnat to it",
      },
      {
        form: "kube-proxy=ipvs",
        what: "`/proc/net/ip_vs`",
        letGoWhen: "it is in no virtual server, or only with weight 0",
      },
      {
        form: "kube-proxy=metrics[,URL]",
        what: "`http://127.0.0.1:10249/metrics`",
        letGoWhen: "two syncs have succeeded since, or one had just succeeded and nothing is queued",
        basis: "evidence",
      },
    ],
  },
  recognised: [
    {
      need: "node-proxy/kube-proxy",
      who: "kube-proxy",
      reader: "kube-proxy",
      converges: ofNodes,
      source: "kubernetes/kubernetes: cmd/kubeadm/app/phases/addons/proxy/manifests.go",
      knownBy: "a pod with a container `kube-proxy`: it must report for its own node, whatever else does",
      ofPod: (pod) => (containerOf(pod, "kube-proxy") === undefined ? undefined : "its node"),
    },
  ],
  seen: [ofNodes],
  ofService: ({ clusterIP }) => (clusterIP === "None" ? undefined : ofNodes),
  presets: {
    "idle-kube-proxy": {
      summary: "kube-proxy in a small cluster, minSyncPeriod 1 s",
      source: "kubernetes pkg/proxy/runner/bounded_frequency_runner.go; sync of 0.1 to 0.3 s",
      forwarder: {
        kind: "periodic",
        watch: watchDelay,
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
        watch: watchDelay,
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
  },
} as const satisfies SenderKind;

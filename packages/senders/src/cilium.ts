import type { SenderKind, ObjectKind } from "./kind.ts";
import { asProxies, asUnmeasured, containerOf, isOn, namedAt } from "./recognising.ts";

const envoyConfig = (kind: string, plural: string): ObjectKind => ({
  group: "cilium.io",
  versions: ["v2", "v2alpha1"],
  kind,
  plural,
  read: namedAt("services", "backendServices"),
});

export const cilium = {
  name: "cilium",
  serves: "node",
  consumer: {
    usage: "cilium[=SOCKET]",
    help: "the agent's API (/run/cilium/cilium.sock)",
    reads: [
      {
        what: "`/v1/service` of the agent's socket",
        letGoWhen: "for 1 s it is in no Service, or terminates while others are active or without serving",
        basis: "evidence",
      },
    ],
  },
  programs: [{ who: "Cilium's Envoy", classes: ["io.cilium/", "cilium.io/"] }],
  recognised: [
    {
      need: "node-proxy/cilium",
      who: "Cilium's agent, beside kube-proxy or in its place",
      reader: "cilium",
      converges: asProxies,
      source: "cilium/cilium: install/kubernetes/cilium/templates/cilium-agent/daemonset.yaml",
      knownBy: "a pod with a container `cilium-agent`: it must report for its own node",
      ofPod: (pod) => (containerOf(pod, "cilium-agent") === undefined ? undefined : "its node"),
    },
    {
      need: "proxy/cilium-envoy",
      who: "Cilium's Envoy",
      converges: asProxies,
      source: "cilium/cilium: pkg/k8s/apis/cilium.io/v2/cec_types.go",
      objects: [
        envoyConfig("CiliumEnvoyConfig", "ciliumenvoyconfigs"),
        envoyConfig("CiliumClusterwideEnvoyConfig", "ciliumclusterwideenvoyconfigs"),
      ],
    },
    {
      need: "other-clusters/cilium",
      who: "nodes of other clusters, by Cilium's cluster mesh",
      converges: asUnmeasured,
      source: "cilium/cilium: pkg/annotation/k8s.go",
      knownBy: "a Service with `service.cilium.io/global` or `io.cilium/global-service`",
      ofService: ({ annotations }) =>
        isOn(annotations.get("service.cilium.io/global")) ||
        isOn(annotations.get("io.cilium/global-service")),
    },
  ],
  presets: {
    ebpf: {
      summary: "eBPF data plane (Cilium, GKE Dataplane V2)",
      source:
        "scylladb/scylla-operator PR 1780: ~1,000 samples, 94.3 % < 83 ms, 98.0 % < 162 ms, 99.3 % < 241 ms",
      forwarder: { kind: "delay", delay: { lognormal: [60, 120] } },
    },
  },
} as const satisfies SenderKind;

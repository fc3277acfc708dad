import type { Sender, SenderKind } from "./kind.ts";

const headless: Sender = {
  name: "clients that resolve the headless Service",
  label: "DNS",
  seconds: 30,
  because: "the TTL of 30 s that kubeadm's CoreDNS gives; clients may keep addresses for longer",
  knownBy: "a Service with `clusterIP: None`",
};

export const dns = {
  name: "dns",
  seen: [headless],
  ofService: ({ clusterIP }) => (clusterIP === "None" ? headless : undefined),
  presets: {
    dns: {
      summary: "clients of a headless service: CoreDNS cache 30 s, then the client's own 30 s",
      source: "https://coredns.io/plugins/kubernetes; kubeadm Corefile: ttl 30, cache 30",
      forwarder: { kind: "delay", delay: { sum: [{ uniform: [0, 30_000] }, { uniform: [0, 30_000] }] } },
    },
  },
} as const satisfies SenderKind;

import { kubeProxy as facts } from "@lameduck/senders";
import type { Consumer, ConsumerKind } from "../consumer.ts";
import { atUrl } from "../consumers/ask.ts";
import { iptablesRules } from "./iptables.ts";
import { ipvsRules } from "./ipvs.ts";
import { KubeProxy, type KubeProxyRules } from "./kube-proxy.ts";
import { nftablesRules } from "./nftables.ts";
import { syncMetrics } from "./sync-metrics.ts";

const iptables = (): KubeProxyRules[] => [iptablesRules("nft"), iptablesRules("legacy")];
const modes: Readonly<Record<string, () => readonly KubeProxyRules[]>> = {
  "": () => [...iptables(), nftablesRules(), ipvsRules()],
  iptables,
  nftables: () => [nftablesRules()],
  ipvs: () => [ipvsRules()],
};

const metricsAddress = "http://127.0.0.1:10249";

function make(where: string): Consumer | undefined {
  const [, url] = /^metrics(?:,(.+))?$/.exec(where) ?? [];
  if (where === "metrics" || url !== undefined) return atUrl(syncMetrics)(url ?? metricsAddress);
  return Object.hasOwn(modes, where) ? new KubeProxy(modes[where]?.() ?? []) : undefined;
}

export const kubeProxyKind: ConsumerKind = { facts, make };

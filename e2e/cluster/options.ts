import { resolve } from "node:path";
import { maximumNodes } from "./network/addresses.ts";
import { badOption } from "./errors.ts";
import type { ProxyMode } from "./node.ts";

export interface ClusterOptions {
  /** 1 to 9; 5 unless given. */
  readonly nodes?: number;
  /** kube-proxy's minSyncPeriod per node, the last one for all nodes that follow; "1s" unless given. */
  readonly proxyLag?: readonly string[];
  readonly proxyMode?: ProxyMode;
  /** NetworkPolicies are enforced on each node, by kube-router; false unless given. */
  readonly networkPolicies?: boolean;
  /** A file to which the API server adds what service accounts ask for, but for those of kube-system; $E2E_AUDIT_LOG unless given. */
  readonly auditLog?: string;
  /** Says what is being done; stderr unless given. */
  readonly say?: (line: string) => void;
  /** Goes on running after this process has ended (`npm run cluster:up`). */
  readonly detached?: boolean;
  readonly signal?: AbortSignal;
}

export interface Settings {
  readonly nodes: number;
  readonly proxyLag: readonly string[];
  readonly proxyMode: ProxyMode;
  readonly networkPolicies: boolean;
  readonly auditLog: string | undefined;
}

export function settle(options: ClusterOptions): Settings {
  const { nodes = 5, proxyLag = ["1s"], proxyMode = "iptables", networkPolicies = false } = options;
  const { auditLog = process.env["E2E_AUDIT_LOG"] } = options;
  if (!Number.isInteger(nodes) || nodes < 1 || nodes > maximumNodes)
    throw badOption("nodes", `${nodes} is not between 1 and ${maximumNodes}`);
  if (proxyMode !== "iptables" && proxyMode !== "nftables")
    throw badOption("proxy mode", `${String(proxyMode)} is neither iptables nor nftables`);
  const lags = Array.from(
    { length: nodes },
    (_, index) => proxyLag[Math.min(index, proxyLag.length - 1)] ?? "1s",
  );
  for (const lag of lags)
    if (!/^(\d+(\.\d+)?(ms|s|m))+$/.test(lag))
      throw badOption("proxy lag", `"${lag}" is not a Go duration such as "500ms" or "10s"`);
  return { nodes, proxyLag: lags, proxyMode, networkPolicies, auditLog: auditLog && resolve(auditLog) };
}

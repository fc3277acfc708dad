import { join } from "node:path";
import type { KubernetesClient } from "@lameduck/kube";
import type { ComponentPlan } from "../component.ts";
import type { CertificateAuthority } from "../host/certificates.ts";
import { attempt } from "../host/run.ts";
import { enterArguments, type Sandbox } from "../host/sandbox.ts";
import { apiPort, fabricAddress, nodeName, serviceRange } from "./addresses.ts";

const user = "system:kube-router";
const healthPort = 20244;

export interface EnforcerOptions {
  readonly state: string;
  /** Path of the program. */
  readonly kubeRouter: string;
  readonly authority: CertificateAuthority;
  readonly numbers: readonly number[];
}

/** kube-router on each node, for NetworkPolicies alone: it makes no routes here, and no Services. */
export async function policyEnforcers(
  api: KubernetesClient,
  { state, kubeRouter, authority, numbers }: EnforcerOptions,
): Promise<ComponentPlan[]> {
  const [kubeconfig] = await Promise.all([issueKubeconfig(state, authority), grantRights(api)]);
  const args = [
    `--kubeconfig=${kubeconfig}`,
    "--run-firewall=true",
    "--run-router=false",
    "--run-service-proxy=false",
    `--service-cluster-ip-range=${serviceRange}`,
    `--health-port=${healthPort}`,
    "-v=1",
  ];
  return numbers.map((number) => {
    const name = `kube-router-${number}`;
    return {
      name,
      sandbox: nodeName(number),
      program: kubeRouter,
      args,
      log: join(state, "log", `${name}.log`),
      environment: { PATH: `${process.env["PATH"]}:/usr/sbin:/sbin`, NODE_NAME: nodeName(number) },
      answersOn: healthPort,
    };
  });
}

/** Whether every packet to and from pods of the node goes through its chains. */
export async function isEnforcing(node: Sandbox): Promise<boolean> {
  const chain = ["iptables", "-w", "-S", "KUBE-ROUTER-FORWARD"];
  const { status, stdout } = await attempt("nsenter", [...enterArguments(node), "--", ...chain]);
  // The last rule that its first sync writes.
  return status === 0 && stdout.includes("-j ACCEPT");
}

async function issueKubeconfig(state: string, authority: CertificateAuthority): Promise<string> {
  const pair = await authority.issue({ file: "kube-router", user });
  const path = join(state, "pki", "kube-router.kubeconfig");
  return authority.writeKubeconfig(path, `https://${fabricAddress}:${apiPort}`, pair);
}

/** What its own manifests grant. */
async function grantRights(api: KubernetesClient): Promise<void> {
  const group = "/apis/rbac.authorization.k8s.io/v1";
  const verbs = ["get", "list", "watch"];
  await api.post(`${group}/clusterroles`, {
    metadata: { name: user },
    rules: [
      { apiGroups: [""], resources: ["namespaces", "pods", "services", "nodes", "endpoints"], verbs },
      { apiGroups: ["networking.k8s.io"], resources: ["networkpolicies"], verbs },
      { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs },
    ],
  });
  await api.post(`${group}/clusterrolebindings`, {
    metadata: { name: user },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: user },
    subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: user }],
  });
}

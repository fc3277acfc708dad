import type { KubernetesClient } from "@lameduck/kube";
import { dnsServiceAddress, fabricAddress } from "./addresses.ts";

const labels = { "k8s-app": "kube-dns", "kubernetes.io/name": "CoreDNS" };
const ports = [
  { name: "dns", port: 53, protocol: "UDP" },
  { name: "dns-tcp", port: 53, protocol: "TCP" },
];

/** The Service kube-dns at the address that the kubelets tell every pod, its endpoint, and what CoreDNS may read. */
export async function publishDomainNames(api: KubernetesClient): Promise<void> {
  const namespace = "/namespaces/kube-system";
  const objects: readonly (readonly [path: string, object: object])[] = [
    [
      `/api/v1${namespace}/services`,
      { metadata: { name: "kube-dns", labels }, spec: { clusterIP: dnsServiceAddress, ports } },
    ],
    [
      `/apis/discovery.k8s.io/v1${namespace}/endpointslices`,
      {
        metadata: { name: "kube-dns", labels: { ...labels, "kubernetes.io/service-name": "kube-dns" } },
        addressType: "IPv4",
        endpoints: [{ addresses: [fabricAddress], conditions: { ready: true } }],
        ports,
      },
    ],
    [
      "/apis/rbac.authorization.k8s.io/v1/clusterroles",
      {
        metadata: { name: "system:coredns" },
        rules: [
          { apiGroups: [""], resources: ["services", "pods", "namespaces"], verbs: ["list", "watch"] },
          { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
        ],
      },
    ],
    [
      "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
      {
        metadata: { name: "system:coredns" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "system:coredns" },
        subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "system:coredns" }],
      },
    ],
  ];
  await Promise.all(objects.map(([path, object]) => api.post(path, object)));
}

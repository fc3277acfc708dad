import { apiVersion, operatorNames } from "@lameduck/protocol";
import { nodeImage, type Manifest } from "../cluster/index.ts";

const { namespace, coordinator } = operatorNames;
const networking = "networking.k8s.io/v1";
const kind = "NetworkPolicy";

export const named = (name: string): Manifest => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name },
});

export function within(name: string, object: Manifest): Manifest {
  return { ...object, metadata: { ...object.metadata, namespace: name } };
}

/** A pod that answers on a port, and from which connections are opened; as Pod Security "restricted" wants it. */
export function probe(within: string, port: number): Manifest {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "probe", namespace: within, labels: { app: "probe" } },
    spec: {
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 65534,
        seccompProfile: { type: "RuntimeDefault" },
      },
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: "server",
          image: nodeImage,
          args: ["/app/server.mjs"],
          env: [{ name: "PORT", value: String(port) }],
          readinessProbe: { httpGet: { path: "/readyz", port }, periodSeconds: 1 },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
        },
      ],
    },
  };
}

/** Leads to the pod of its namespace, from one port to another. */
export function probeService(within: string, port: number, targetPort: number): Manifest {
  const spec = { selector: { app: "probe" }, ports: [{ port, targetPort }] };
  return { apiVersion: "v1", kind: "Service", metadata: { name: "probe", namespace: within }, spec };
}

/** Nothing comes in, nothing goes out, unless another policy allows it. */
export function denyAll(within: string): Manifest {
  const spec = { podSelector: {}, policyTypes: ["Ingress", "Egress"] };
  return { apiVersion: networking, kind, metadata: { name: "deny-all", namespace: within }, spec };
}

/** What pods that ask the coordinator need at least, as docs/operate/acknowledgements.md says. */
export function askingAllowed(within: string): Manifest {
  const lameduck = { matchLabels: { "kubernetes.io/metadata.name": namespace } };
  const egress = [
    { ports: [{ port: coordinator.ports.protocol }], to: [{ namespaceSelector: lameduck }] },
    { ports: [{ port: 53, protocol: "UDP" }] },
  ];
  const spec = { podSelector: {}, policyTypes: ["Egress"], egress };
  return { apiVersion: networking, kind, metadata: { name: "asking", namespace: within }, spec };
}

/** Its pods stop on the cluster's word alone. */
export function wordRequired(within: string): Manifest {
  return {
    apiVersion,
    kind: "DrainPolicy",
    metadata: { name: "default", namespace: within },
    spec: { acknowledgements: { mode: "consistency" } },
  };
}

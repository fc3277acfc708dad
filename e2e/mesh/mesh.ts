import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { envoyImage, nodeImage, prepareEnvoy, type Cluster, type Manifest } from "../cluster/index.ts";
import { deliver } from "../ingress/envoy/gateway.ts";
import { say } from "../program.ts";
import { apply, podNames, rolledOut } from "../test/support.ts";

/** For so long its proxies go on choosing a pod that is withdrawn. */
export const lagMs = 20_000;
/** Each client sends once in that time. */
const everyMs = 5_000;
const name = "mesh-client";

/** What one client has said of one request. */
export interface Sent {
  readonly at: number;
  readonly status?: number;
  readonly to?: string;
  readonly error?: string;
}

const rule = { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list"] };
const rbac = "rbac.authorization.k8s.io";

/** Clients whose proxy is a real Envoy, fed by a control plane of ours that lags. @param service where they send. */
export async function meshOf(cluster: Cluster, service: string, clients: number): Promise<void> {
  await deliver(cluster, [await prepareEnvoy(say)]);
  const files = ["client.mjs", "envoy.json"];
  const texts = await Promise.all(
    files.map(async (file) => [file, await readFile(join(import.meta.dirname, file), "utf8")]),
  );
  const slices = `https://kubernetes.default.svc/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name%3D${service}`;
  const volumeMounts = [{ name: "mesh", mountPath: "/mesh" }];
  const labels = { app: name };
  const metadata = { name, namespace: "default" };
  const roleRef = { apiGroup: rbac, kind: "Role", name };
  const objects: Manifest[] = [
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    { apiVersion: `${rbac}/v1`, kind: "Role", metadata, rules: [rule] },
    {
      apiVersion: `${rbac}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef,
      subjects: [{ kind: "ServiceAccount", ...metadata }],
    },
    { apiVersion: "v1", kind: "ConfigMap", metadata, data: Object.fromEntries(texts) as object },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata,
      spec: {
        replicas: clients,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            serviceAccountName: name,
            terminationGracePeriodSeconds: 1,
            containers: [
              // By its name it is known.
              { name: "istio-proxy", image: envoyImage, args: ["-c", "/mesh/envoy.json"], volumeMounts },
              {
                name: "client",
                image: nodeImage,
                args: ["/mesh/client.mjs", slices, String(lagMs), String(everyMs)],
                volumeMounts,
              },
            ],
            volumes: [{ name: "mesh", configMap: { name } }],
          },
        },
      },
    },
  ];
  await apply(cluster, ...objects);
  await rolledOut(cluster, name);
}

/** What all clients have sent since, by this machine's clock, which is that of the pods, too. */
export async function sentSince(cluster: Cluster, since: number): Promise<readonly Sent[]> {
  const pods = await podNames(cluster, name);
  const texts = await Promise.all(pods.map((pod) => cluster.kubectl(["logs", pod, "-c", "client"])));
  return texts
    .join("\n")
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Sent)
    .filter(({ at }) => at >= since);
}

export const isLost = ({ status }: Sent): boolean => status !== 200;

export async function withoutMesh(cluster: Cluster): Promise<void> {
  await cluster.kubectl(["delete", `deployment/${name}`, `configmap/${name}`, "--ignore-not-found"]);
}

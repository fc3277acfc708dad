import { operatorNames } from "@lameduck/protocol";
import type { Cluster } from "../cluster/index.ts";
import type { EnvoyControl } from "../ingress/envoy/gateway.ts";
import { controlOf, isEnvoyRoute } from "../ingress/envoy/open.ts";
import { ingressNode } from "../ingress/ingress.ts";
import type { RouteName } from "../matrix/routes.ts";
import { apply } from "../test/support.ts";
import { ingressAccount, watcherBeside } from "./installation.ts";

const { watcher } = operatorNames;
const { name } = ingressAccount;

/** The ingress proxies of the matrix, by what a watcher beside each is told. */
const consumers: Partial<Record<RouteName, { readonly directory: string; readonly consumer: string }>> = {
  haproxy: { directory: "/run/ingress-haproxy", consumer: "haproxy=/run/ingress-haproxy/admin.sock" },
  nginx: {
    directory: "/run/ingress-nginx",
    consumer: "nginx=/run/ingress-nginx/nginx.conf,/run/ingress-nginx/nginx.pid",
  },
};

/**
 * What a cluster with such an ingress has: an Ingress of its class that leads to the Service, and beside the proxy a watcher that reports for
 * it. Nothing where the route has no proxy that sends to pods.
 */
export async function startIngressConsumer(
  cluster: Cluster,
  route: RouteName,
  service: string,
): Promise<AsyncDisposable> {
  if (isEnvoyRoute(route)) return besideEnvoy(cluster, controlOf(route));
  const own = consumers[route];
  if (own === undefined) return { [Symbol.asyncDispose]: () => Promise.resolve() };
  await apply(
    cluster,
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: service, namespace: "default" },
      spec: {
        ingressClassName: route,
        defaultBackend: { service: { name: service, port: { number: 80 } } },
      },
    },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: ingressAccount },
    await watcherPod(cluster, own),
  );
  const wait = ["wait", "--for=condition=Ready", `pod/${name}`, "-n", watcher.namespace, "--timeout=60s"];
  await cluster.kubectl(wait);
  return {
    [Symbol.asyncDispose]: async () => {
      await cluster.kubectl(["delete", "ingress", service, "--ignore-not-found"]);
      await cluster.kubectl(["delete", "pod", name, "-n", watcher.namespace, "--grace-period=1"]);
    },
  };
}

async function watcherPod(
  cluster: Cluster,
  { directory, consumer }: { readonly directory: string; readonly consumer: string },
) {
  const { container, volume } = await watcherBeside(cluster, [`--consumer=${consumer}`, `--name=${name}`]);
  const mounts = container["volumeMounts"] as object[];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: watcher.namespace, labels: { app: name } },
    spec: {
      nodeName: ingressNode,
      hostPID: true,
      serviceAccountName: name,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          ...container,
          securityContext: { runAsUser: 0 },
          volumeMounts: [...mounts, { name: "control", mountPath: directory }],
        },
      ],
      volumes: [volume, { name: "control", hostPath: { path: directory, type: "DirectoryOrCreate" } }],
    },
  };
}

/** What tells of the Service comes with the route; here each Envoy gets a watcher beside it, which ends after it. */
async function besideEnvoy(cluster: Cluster, control: EnvoyControl): Promise<AsyncDisposable> {
  await control.install(cluster);
  const flags = [`--consumer=envoy=${control.admin}`, ...control.serves.map((one) => `--serves=${one}`)];
  const { container, volume } = await watcherBeside(cluster, flags);
  await control.beside(cluster, { container: { ...container, restartPolicy: "Always" }, volume });
  return { [Symbol.asyncDispose]: () => control.beside(cluster, undefined) };
}

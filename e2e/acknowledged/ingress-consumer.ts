import { operatorNames } from "@lameduck/protocol";
import type { Cluster } from "../cluster/index.ts";
import type { EnvoyControl } from "../ingress/envoy/gateway.ts";
import { controlOf, isEnvoyRoute } from "../ingress/envoy/open.ts";
import { ingressNode } from "../ingress/ingress.ts";
import { watcherBeside, type Beside } from "../ingress/watcher-beside.ts";
import type { RouteName } from "../matrix/routes.ts";
import { apply } from "../test/support.ts";
import { ingressAccount } from "./installation.ts";

const { watcher } = operatorNames;
const { name } = ingressAccount;

/** Of the small HAProxy. */
const directory = "/run/ingress-haproxy";

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
  if (route !== "haproxy") return { [Symbol.asyncDispose]: () => Promise.resolve() };
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
    await watcherPod(cluster),
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

async function watcherPod(cluster: Cluster) {
  const flags = [`--consumer=haproxy=${directory}/admin.sock`, `--name=${name}`];
  const { container, volume } = await installedWatcher(cluster, flags);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: watcher.namespace, labels: { app: name } },
    spec: {
      nodeName: ingressNode,
      serviceAccountName: name,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          ...container,
          securityContext: { runAsUser: 0 },
          volumeMounts: [...container.volumeMounts, { name: "control", mountPath: directory }],
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
  const { container, volume } = await installedWatcher(cluster, flags);
  await control.beside(cluster, { container: { ...container, restartPolicy: "Always" }, volume });
  return { [Symbol.asyncDispose]: () => control.beside(cluster, undefined) };
}

async function installedWatcher(cluster: Cluster, flags: readonly string[]): Promise<Beside> {
  const beside = await watcherBeside(cluster, flags);
  if (beside === undefined) throw new Error("no watcher is installed");
  return beside;
}

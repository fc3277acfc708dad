import { operatorNames } from "@lameduck/protocol";
import type { Cluster } from "../cluster/index.ts";
import { ingressNode } from "../ingress/ingress.ts";
import type { RouteName } from "../matrix/routes.ts";
import { apply } from "../test/support.ts";
import { ingressAccount } from "./installation.ts";

const { namespace, coordinator, watcher } = operatorNames;
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
  const installed = [`daemonset/${watcher.workload}`, "-n", watcher.namespace];
  const image = await cluster.field(installed, "{.spec.template.spec.containers[0].image}");
  const token = { path: "token", audience: coordinator.audience, expirationSeconds: 3600 };
  const reportTo = `http://${coordinator.consumersService}.${namespace}.svc:${coordinator.ports.protocol}`;
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
          name: "watcher",
          image,
          imagePullPolicy: "IfNotPresent",
          args: [
            "watcher",
            `--coordinator=${reportTo}`,
            "--token-file=/token/token",
            `--consumer=${consumer}`,
            `--name=${name}`,
          ],
          securityContext: { runAsUser: 0 },
          volumeMounts: [
            { name: "token", mountPath: "/token", readOnly: true },
            { name: "control", mountPath: directory },
          ],
        },
      ],
      volumes: [
        { name: "token", projected: { sources: [{ serviceAccountToken: token }] } },
        { name: "control", hostPath: { path: directory, type: "DirectoryOrCreate" } },
      ],
    },
  };
}

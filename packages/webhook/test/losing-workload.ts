import type { OperatorApi } from "../../cluster/test/operator-api.ts";

export const deployments = "apps/deployments";

/** Its hook takes as long as its grace period: the drain never runs. */
export const losing = {
  metadata: { labels: { app: "web" } },
  spec: {
    terminationGracePeriodSeconds: 30,
    containers: [
      {
        name: "web",
        image: "registry.example/web:1",
        ports: [{ containerPort: 80 }],
        lifecycle: { preStop: { exec: { command: ["sleep", "40"] } } },
        readinessProbe: { httpGet: { path: "/", port: 80 } },
      },
    ],
  },
};

export const sound = { ...losing, spec: { ...losing.spec, terminationGracePeriodSeconds: 90 } };

/** A namespace with one Deployment behind a Service. */
export function shop(api: OperatorApi, template: object = losing): void {
  api.put("namespaces", "shop", { metadata: { labels: { "lameduck.dev/inject": "enabled" } } });
  api.put("services", "web", {
    metadata: { namespace: "shop" },
    spec: { selector: { app: "web" }, ports: [{ port: 80, targetPort: 80 }] },
  });
  api.put(deployments, "web", {
    metadata: { namespace: "shop" },
    spec: { replicas: 3, selector: { matchLabels: { app: "web" } }, template },
  });
}

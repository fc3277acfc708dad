import { setTimeout as sleep } from "node:timers/promises";
import { operatorNames } from "@lameduck/protocol";
import type { Pod } from "@lameduck/kube";
import type { Cluster } from "../cluster/index.ts";
import { processOf } from "../cluster/container-process.ts";
import { during, scenarios, type Scenario } from "../matrix/scenarios.ts";
import { chart, helm, installed, installedByHelm, lameduckDoes, type Way } from "./installation.ts";

/** A scenario that may need an installation of its own. */
export interface Situation extends Scenario {
  readonly install?: (cluster: Cluster) => Promise<void>;
}

const { namespace, workload } = operatorNames;
const operatorPods = ["-n", namespace, "-l", "app.kubernetes.io/component=webhook"] as const;

const ready = (cluster: Cluster): Promise<string> =>
  cluster.kubectl(["rollout", "status", `deployment/${workload}`, "-n", namespace, "--timeout=120s"]);

const byHelm = { install: (cluster: Cluster) => installedByHelm(cluster) };

/** A restart of the software while something happens to what injects. */
const ofOperator: readonly Situation[] = [
  during("webhook-killed", "rollout restart; every replica of the webhook killed", async ({ cluster }) => {
    await cluster.kubectl(["delete", "pods", ...operatorPods, "--force", "--grace-period=0"]);
    await ready(cluster);
  }),
  during("webhook-down", "rollout restart; the webhook scaled to 0 for its length", async ({ cluster }) => {
    await cluster.kubectl(["scale", `deployment/${workload}`, "-n", namespace, "--replicas=0"]);
  }),
  during("webhook-restarted", "rollout restart; rollout restart of the webhook", async ({ cluster }) => {
    await cluster.kubectl(["rollout", "restart", `deployment/${workload}`, "-n", namespace]);
    await ready(cluster);
  }),
  during("operator-node-drained", "rollout restart; a node of the webhook drained", async ({ cluster }) => {
    const node = await cluster.field(["pods", ...operatorPods], "{.items[0].spec.nodeName}");
    const drain = ["drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=150s"];
    try {
      await cluster.kubectl(drain);
    } finally {
      await cluster.kubectl(["uncordon", node]);
    }
  }),
  during("wrong-authority", "rollout restart; the webhook's caBundle is another's", async ({ cluster }) => {
    await patchBundle(cluster, await otherAuthority(cluster));
  }),
  during("uninstalled", "rollout restart; lameduck uninstall in its middle", async ({ cluster }) => {
    await lameduckDoes(cluster, "uninstall", "--yes");
  }),
  {
    ...byHelm,
    ...during("helm-upgraded", "rollout restart; helm upgrade in its middle", async ({ cluster }) => {
      await helm(cluster, "upgrade", "lameduck", chart, "-n", namespace, "--set", "logLevel=debug", "--wait");
    }),
  },
  {
    ...byHelm,
    ...during("helm-uninstalled", "rollout restart; helm uninstall in its middle", async ({ cluster }) => {
      await helm(cluster, "uninstall", "lameduck", "-n", namespace, "--wait");
    }),
  },
  during("webhook-slow", "rollout restart; the webhook answers after 5 s", async ({ cluster }) => {
    for (let pause = 0; pause < 4; pause++) {
      await signalWebhook(cluster, "STOP");
      try {
        await sleep(5_000);
      } finally {
        await signalWebhook(cluster, "CONT");
      }
    }
  }),
  {
    ...during(
      "certificates-rotated",
      "rollout restart; certificates rotate all the time",
      async ({ cluster }) => {
        const seen = new Set<string>();
        for (let look = 0; look < 20; look++, await sleep(1_000)) seen.add(await certificate(cluster));
        if (seen.size < 3) throw new Error(`${seen.size} certificates in 20 s: nothing rotated`);
      },
    ),
    install: async (cluster) => {
      await installed(cluster, "webhook");
      const flags = ["--certificate-lifetime=10s", "--authority-lifetime=30s"];
      const place = "/spec/template/spec/containers/0/args/-";
      const patch = JSON.stringify(flags.map((value) => ({ op: "add", path: place, value })));
      await cluster.kubectl(["patch", `deployment/${workload}`, "-n", namespace, "--type=json", "-p", patch]);
    },
  },
];

export const situations: readonly Situation[] = [...scenarios, ...ofOperator];

/** What happens to the webhook happens only where there is one. */
export const happensIn = (situation: Situation, way: Way): boolean =>
  way === "webhook" || !ofOperator.includes(situation);

async function signalWebhook(cluster: Cluster, signal: "STOP" | "CONT"): Promise<void> {
  const pods = await cluster.api.list<Pod>(`/api/v1/namespaces/${namespace}/pods`);
  for (const { metadata, spec } of pods) {
    const node = spec?.nodeName;
    if (node === undefined) continue;
    const found = await processOf(cluster, { name: metadata.name, namespace, node });
    if (found !== undefined) await cluster.inside(node, ["kill", `-${signal}`, found]);
  }
}

const certificate = (cluster: Cluster): Promise<string> =>
  cluster.field(["secret", operatorNames.certificateSecret, "-n", namespace], "{.data.tls\\.crt}");

async function patchBundle(cluster: Cluster, caBundle: string): Promise<void> {
  const patch = [{ op: "replace", path: "/webhooks/0/clientConfig/caBundle", value: caBundle }];
  const target = ["mutatingwebhookconfiguration", operatorNames.configuration];
  await cluster.kubectl(["patch", ...target, "--type=json", "-p", JSON.stringify(patch)]);
}

/** The cluster's own: a good certificate that has not signed ours. */
async function otherAuthority(cluster: Cluster): Promise<string> {
  const certificate = await cluster.field(
    ["configmap", "kube-root-ca.crt", "-n", "default"],
    "{.data.ca\\.crt}",
  );
  return Buffer.from(certificate).toString("base64");
}

import { setTimeout as sleep } from "node:timers/promises";
import { until, type Cluster } from "../cluster/index.ts";
import type { PodObserver } from "./observe/pods.ts";

export interface Stage {
  readonly cluster: Cluster;
  readonly pods: PodObserver;
  readonly app: string;
  readonly replicas: number;
}

export interface Scenario {
  readonly name: string;
  readonly description: string;
  run(stage: Stage): Promise<void>;
}

const restart = ({ cluster, app }: Stage): Promise<string> =>
  cluster.kubectl(["rollout", "restart", `deployment/${app}`]);

/** All replicas available and no termination under way. A fault in between may make it long; a hold takes up to the grace period. */
async function quiet({ pods, replicas }: Stage): Promise<void> {
  await until(() => Promise.resolve(pods.available === replicas && pods.terminating === 0), {
    what: `${replicas} pods available and none terminating`,
    timeoutMs: 170_000,
  });
}

async function restartAndWait(stage: Stage): Promise<void> {
  const before = stage.pods.events.length;
  await restart(stage);
  await until(() => Promise.resolve(stage.pods.events.slice(before).some(({ type }) => type === "deleted")), {
    what: "the first old pod deleted",
    timeoutMs: 60_000,
  });
  await quiet(stage);
}

/** A fault that begins two seconds after the restart. */
const during = (name: string, description: string, fault: (stage: Stage) => Promise<void>): Scenario => ({
  name,
  description,
  run: async (stage) => {
    const rolling = restartAndWait(stage);
    await sleep(2_000);
    await fault(stage);
    await rolling;
  },
});

async function stopped(cluster: Cluster, component: string, milliseconds: number): Promise<void> {
  await cluster.pause(component);
  await sleep(milliseconds);
  await cluster.resume(component);
}

export const scenarios: readonly Scenario[] = [
  { name: "rollout", description: "kubectl rollout restart", run: restartAndWait },
  {
    name: "scale-down",
    description: "scaled to half, and back",
    run: async (stage) => {
      const { cluster, app, pods, replicas } = stage;
      const half = Math.ceil(replicas / 2);
      await cluster.kubectl(["scale", `deployment/${app}`, `--replicas=${half}`]);
      await until(() => Promise.resolve(pods.available === half && pods.terminating === 0), {
        what: `${half} pods left`,
        timeoutMs: 120_000,
      });
      await cluster.kubectl(["scale", `deployment/${app}`, `--replicas=${replicas}`]);
      await quiet(stage);
    },
  },
  {
    name: "delete",
    description: "a quarter of the pods deleted, one each second",
    run: async (stage) => {
      for (const pod of await someOf(stage)) {
        await stage.cluster.kubectl(["delete", "pod", pod, "--wait=false"]);
        await sleep(1_000);
      }
      await quiet(stage);
    },
  },
  {
    name: "evict",
    description: "a quarter of the pods evicted through the API",
    run: async (stage) => {
      for (const pod of await someOf(stage))
        await stage.cluster.api.create(`/api/v1/namespaces/default/pods/${pod}/eviction`, {
          apiVersion: "policy/v1",
          kind: "Eviction",
          metadata: { name: pod, namespace: "default" },
        });
      await quiet(stage);
    },
  },
  {
    name: "drain-node",
    description: "kubectl drain of one node",
    run: async (stage) => {
      const node = "node2";
      await stage.cluster.kubectl([
        "drain",
        node,
        "--ignore-daemonsets",
        "--delete-emptydir-data",
        "--timeout=120s",
      ]);
      await quiet(stage);
      await stage.cluster.kubectl(["uncordon", node]);
    },
  },
  during("rollout-apiserver-stopped", "rollout restart; API server stopped for 5 s", ({ cluster }) =>
    stopped(cluster, "apiserver", 5_000),
  ),
  during(
    "rollout-kube-proxy-stopped",
    "rollout restart; kube-proxy of one node stopped for 5 s",
    ({ cluster }) => stopped(cluster, "kube-proxy-1", 5_000),
  ),
  during("rollout-etcd-stopped", "rollout restart; etcd stopped for 3 s", ({ cluster }) =>
    stopped(cluster, "etcd", 3_000),
  ),
  during(
    "rollout-apiserver-restarted",
    "rollout restart; API server killed and started again",
    ({ cluster }) => cluster.restart("apiserver"),
  ),
  during("rollout-kubelet-restarted", "rollout restart; kubelet of one node restarted", ({ cluster }) =>
    cluster.restart("kubelet-2"),
  ),
];

async function someOf({ cluster, app, replicas }: Stage): Promise<string[]> {
  const names = await cluster.kubectl([
    "get",
    "pods",
    "-l",
    `app=${app}`,
    "-o",
    "jsonpath={.items[*].metadata.name}",
  ]);
  return names.split(" ").slice(0, Math.ceil(replicas / 4));
}

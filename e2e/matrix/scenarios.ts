import { setTimeout as sleep } from "node:timers/promises";
import { availableParallelism } from "node:os";
import { recorderImage, until, type Cluster } from "../cluster/index.ts";
import { podFields, type ServerOptions } from "../cluster/workload.ts";
import { expireWatches } from "./faults/expire-watches.ts";
import type { Fleet } from "./load/fleet.ts";
import type { PodObserver } from "./observe/pods.ts";

export interface Stage {
  readonly cluster: Cluster;
  readonly pods: PodObserver;
  readonly app: string;
  readonly replicas: number;
  readonly load: Pick<Fleet, "pause" | "resume">;
}

export interface Scenario {
  readonly name: string;
  readonly description: string;
  /** What the pods need for it. */
  readonly pod?: Partial<ServerOptions>;
  run(stage: Stage): Promise<void>;
}

const restart = ({ cluster, app }: Stage): Promise<string> =>
  cluster.kubectl(["rollout", "restart", `deployment/${app}`]);

/** All replicas available and no termination under way. A fault in between may make it long; a hold takes up to the grace period. */
export async function quiet({ pods, replicas }: Pick<Stage, "pods" | "replicas">): Promise<void> {
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
export const during = (
  name: string,
  description: string,
  fault: (stage: Stage) => Promise<void>,
): Scenario => ({
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
    name: "pause-then-rollout",
    description: "kubectl rollout restart, 15 s after the load had paused for 45 s",
    run: async (stage) => {
      // A service that is in use: of its load's pause a pod knows by the arrivals before it.
      await sleep(15_000);
      stage.load.pause();
      await sleep(45_000);
      stage.load.resume();
      await sleep(15_000);
      await restartAndWait(stage);
    },
  },
  {
    name: "scale-down",
    description: "scaled to half, and back",
    run: async (stage) => {
      const { cluster, app, pods, replicas } = stage;
      const half = Math.ceil(replicas / 2);
      await cluster.kubectl(["scale", `deployment/${app}`, `--replicas=${half}`]);
      await quiet({ pods, replicas: half });
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
        await stage.cluster.api.post(`/api/v1/namespaces/default/pods/${pod}/eviction`, {
          apiVersion: "policy/v1",
          kind: "Eviction",
          metadata: { name: pod, namespace: "default" },
        });
      await quiet(stage);
    },
  },
  { name: "drain-node", description: "kubectl drain of one node", run: (stage) => drain(stage) },
  {
    name: "drain-node-deleting",
    description: "kubectl drain --disable-eviction of one node: deletions, which ask no PodDisruptionBudget",
    run: (stage) => drain(stage, "--disable-eviction"),
  },
  {
    name: "force-delete",
    description: "a quarter of the pods deleted with grace period 0, one each second",
    run: async (stage) => {
      for (const pod of await someOf(stage)) {
        await stage.cluster.kubectl(["delete", "pod", pod, "--force", "--grace-period=0"]);
        await sleep(1_000);
      }
      await quiet(stage);
    },
  },
  {
    name: "preemption",
    description: "a pod of higher priority takes the place of those on one node",
    run: async (stage) => {
      const { cluster } = stage;
      await cluster.kubectl(["apply", "-f", "-"], JSON.stringify(importantClass));
      // The API server rejects pods of a class until its own watch has seen that class.
      await until(() => applied(cluster, importantPod()), {
        what: "a pod of the new priority class accepted",
        timeoutMs: 15_000,
      });
      await cluster.kubectl(["wait", "--for=condition=Ready", "pod/important", "--timeout=100s"]);
      await quiet(stage);
      await cluster.kubectl(["delete", "pod/important", "priorityclass/important", "--grace-period=1"]);
    },
  },
  {
    name: "kubelet-eviction",
    description: "a node evicts its pods by itself for want of disk (no deletion, 1 s of grace)",
    run: async (stage) => {
      const node = await busiestNode(stage);
      const before = await endedPods(stage);
      const restore = await stage.cluster.reconfigureKubelet(Number(node.replace("node", "")), {
        evictionHard: { "nodefs.available": "99%" },
      });
      try {
        // The kubelet evicts one pod at a time, and others of the node may come first.
        await until(async () => (await endedPods(stage)) > before, {
          what: `a pod evicted by ${node}`,
          timeoutMs: 120_000,
        });
      } finally {
        await restore();
      }
      await quiet(stage);
    },
  },
  {
    name: "liveness-restart",
    description: "a quarter of the pods fail their liveness probe (no deletion: endpoints stay)",
    pod: {
      livenessProbe: { httpGet: { path: "/livez", port: 8080 }, periodSeconds: 1, failureThreshold: 2 },
    },
    run: async (stage) => {
      const { cluster, app } = stage;
      const sick = await someOf(stage);
      for (const pod of sick)
        await cluster.kubectl(["exec", pod, "--", "node", "-e", "process.kill(1, 'SIGUSR2')"]);
      await until(async () => (await restarts(cluster, app)) >= sick.length, {
        what: "containers restarted",
        timeoutMs: 120_000,
      });
      await quiet(stage);
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
    "rollout-etcd-slow",
    "rollout restart; etcd stopped for 400 of every 500 ms, for 10 s",
    async ({ cluster }) => {
      for (let pulse = 0; pulse < 20; pulse++) {
        await stopped(cluster, "etcd", 400);
        await sleep(100);
      }
    },
  ),
  during(
    "rollout-watches-expired",
    "rollout restart; API server restarted and etcd compacted, so that every resumed watch is refused (410)",
    ({ cluster }) => expireWatches(cluster),
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

async function drain(stage: Stage, ...flags: readonly string[]): Promise<void> {
  const node = await busiestNode(stage);
  const always = ["--ignore-daemonsets", "--delete-emptydir-data", "--timeout=120s"];
  await stage.cluster.kubectl(["drain", node, ...always, ...flags]);
  await quiet(stage);
  await stage.cluster.kubectl(["uncordon", node]);
}

async function someOf({ cluster, app, replicas }: Stage): Promise<string[]> {
  const names = await podFields(cluster, app, "metadata.name");
  return names.slice(0, Math.ceil(replicas / 4));
}

/** The node with most of the pods. Those that it has evicted stay with it, and count no more. */
async function busiestNode({ cluster, app }: Stage): Promise<string> {
  const pods = new Map<string, number>();
  for (const node of await podFields(cluster, app, "spec.nodeName", '?(@.status.phase=="Running")'))
    pods.set(node, (pods.get(node) ?? 0) + 1);
  const [busiest] = [...pods].toSorted(([, one], [, other]) => other - one);
  if (busiest === undefined) throw new Error(`no pod of ${app} runs on any node`);
  return busiest[0];
}

/** A pod that is evicted without a deletion remains, also if its process ended with 0. */
async function endedPods({ cluster, app }: Stage): Promise<number> {
  const phases = await podFields(cluster, app, "status.phase");
  return phases.filter((phase) => phase === "Failed" || phase === "Succeeded").length;
}

async function restarts(cluster: Cluster, app: string): Promise<number> {
  const counts = await podFields(cluster, app, "status.containerStatuses[0].restartCount");
  return counts.reduce((sum, count) => sum + Number(count), 0);
}

async function applied(cluster: Cluster, object: object): Promise<boolean> {
  try {
    await cluster.kubectl(["apply", "-f", "-"], JSON.stringify(object));
    return true;
  } catch (error) {
    if (String(error).includes("no PriorityClass")) return false;
    throw error;
  }
}

const importantClass = {
  apiVersion: "scheduling.k8s.io/v1",
  kind: "PriorityClass",
  metadata: { name: "important" },
  value: 1000,
};

/** Asks for nearly all of a node, so that the scheduler must end what runs there. */
const importantPod = (): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "important" },
  spec: {
    priorityClassName: importantClass.metadata.name,
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: "main",
        image: recorderImage,
        args: ["serve"],
        resources: { requests: { cpu: `${availableParallelism() * 1000 - 50}m` } },
      },
    ],
  },
});

import { setTimeout as sleep } from "node:timers/promises";
import { operatorNames } from "@lameduck/operator";
import type { Cluster } from "../cluster/index.ts";
import { during, scenarios, type Scenario, type Stage } from "../matrix/scenarios.ts";
import { coordinatorPods, coordinatorReady, watcherOn, watchersReady } from "./installation.ts";
import { reportFalsely } from "./false-reports.ts";

const { namespace, coordinator } = operatorNames;
/** Neither the fastest nor the slowest. */
const nodeOf = ({ nodeNames }: Cluster): string => nodeNames.at(-2) ?? nodeNames[0] ?? "";

/** A rollout while something is wrong with who reports, or with who collects reports. */
const faults: readonly Scenario[] = [
  around("watcher-stopped", "the watcher of one node stopped (SIGSTOP)", async ({ cluster }) => {
    const node = nodeOf(cluster);
    const { pid } = await watcherOn(cluster, node);
    await cluster.inside(node, ["kill", "-STOP", pid]);
    return async () => {
      await cluster.inside(node, ["kill", "-CONT", pid]);
      await watchersReady(cluster);
    };
  }),
  around(
    "watcher-partitioned",
    "the watcher of one node cut off from the coordinator",
    async ({ cluster }) => {
      const node = nodeOf(cluster);
      const drop = `add rule ip proof output tcp dport ${coordinator.ports.protocol} drop`;
      const chain = "add chain ip proof output { type filter hook output priority -1; }";
      await cluster.inside(node, ["nft", "-f", "-"], ["add table ip proof", chain, drop, ""].join("\n"));
      return async () => {
        await cluster.inside(node, ["nft", "delete", "table", "ip", "proof"]);
      };
    },
  ),
  during("watcher-killed", "rollout restart; the watcher of one node killed", async ({ cluster }) => {
    const node = nodeOf(cluster);
    const { pid } = await watcherOn(cluster, node);
    await cluster.inside(node, ["kill", "-KILL", pid]);
    await watchersReady(cluster);
  }),
  during(
    "coordinator-killed",
    "rollout restart; one replica of the coordinator killed",
    async ({ cluster }) => {
      const [first] = await coordinatorPods(cluster);
      await cluster.kubectl([
        "delete",
        "pod",
        first?.name ?? "",
        "-n",
        namespace,
        "--force",
        "--grace-period=0",
      ]);
      await coordinatorReady(cluster);
    },
  ),
  during("coordinator-rolled", "rollout restart; rollout restart of the coordinator", async ({ cluster }) => {
    await cluster.kubectl(["rollout", "restart", `deployment/${coordinator.workload}`, "-n", namespace]);
    await coordinatorReady(cluster);
  }),
  around("coordinator-down", "no replica of the coordinator", async ({ cluster }) => {
    await scaled(cluster, 0);
    return () => scaled(cluster, 2);
  }),
  during("apiserver-stopped", "rollout restart; API server stopped for 10 s", async ({ cluster }) => {
    await cluster.pause("apiserver");
    await sleep(10_000);
    await cluster.resume("apiserver");
  }),
  around("consumer-lies", "the slowest node reports everything as applied at once", ({ cluster }) =>
    reportFalsely(cluster, cluster.nodeNames.at(-1) ?? ""),
  ),
];

export const situations: readonly Scenario[] = [...faults, ...scenarios];

const rollout = scenarios.find(({ name }) => name === "rollout") ?? during("rollout", "", async () => {});

/** Rollouts with a fault from before the first deletion until after the last pod's end. */
function around(
  name: string,
  description: string,
  begin: (stage: Stage) => Promise<() => Promise<void>>,
): Scenario {
  return {
    name,
    description: `rollout restart; ${description}`,
    run: async (stage) => {
      const end = await begin(stage);
      try {
        await rollout.run(stage);
      } finally {
        await end();
      }
    },
  };
}

async function scaled(cluster: Cluster, replicas: number): Promise<void> {
  await cluster.kubectl([
    "scale",
    `deployment/${coordinator.workload}`,
    "-n",
    namespace,
    `--replicas=${replicas}`,
  ]);
  await coordinatorReady(cluster);
}

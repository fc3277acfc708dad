import { setTimeout as sleep } from "node:timers/promises";
import { operatorNames } from "@lameduck/protocol";
import type { Cluster } from "../../cluster/index.ts";
import { apiPort } from "../../cluster/network/addresses.ts";
import { during, scenarios, type Scenario } from "../../matrix/scenarios.ts";
import { around } from "./around.ts";
import { clocks } from "./clocks.ts";
import { contourSituations } from "./contour.ts";
import { ingressNginxSituations } from "./ingress-nginx.ts";
import {
  coordinatorPods,
  coordinatorReady,
  scaleCoordinator,
  watcherOn,
  watchersReady,
} from "../installation.ts";
import { reportFalsely } from "./false-reports.ts";
import { versions } from "./versions.ts";

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
  around("watcher-partitioned", "the watcher of one node cut off from the coordinator", ({ cluster }) =>
    dropping(cluster, nodeOf(cluster), "output", `tcp dport ${coordinator.ports.protocol}`),
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
  around(
    "coordinator-partitioned",
    "one replica of the coordinator cut off from the API server",
    async ({ cluster }) => {
      const [first] = await coordinatorPods(cluster);
      if (first === undefined) throw new Error("no coordinator");
      const end = await dropping(
        cluster,
        first.node,
        "forward",
        `ip saddr ${first.address} tcp dport ${apiPort}`,
      );
      await untilReady(cluster, first.name, false).catch(async (error: unknown) => {
        await end();
        throw error;
      });
      return async () => {
        await end();
        await untilReady(cluster, first.name, true);
      };
    },
  ),
  around("coordinator-down", "no replica of the coordinator", async ({ cluster }) => {
    await scaleCoordinator(cluster, 0);
    return () => scaleCoordinator(cluster, 2);
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

export const situations: readonly Scenario[] = [
  ...faults,
  ...versions,
  clocks,
  ...contourSituations,
  ...ingressNginxSituations,
  ...scenarios,
];

/** @param hook of nftables: what the node's own processes send, or what its pods do. */
async function dropping(
  cluster: Cluster,
  node: string,
  hook: "output" | "forward",
  what: string,
): Promise<() => Promise<void>> {
  const lines = [
    "add table ip proof",
    `add chain ip proof ${hook} { type filter hook ${hook} priority -1; }`,
    `add rule ip proof ${hook} ${what} drop`,
    "",
  ];
  await cluster.inside(node, ["nft", "-f", "-"], lines.join("\n"));
  return async () => {
    await cluster.inside(node, ["nft", "delete", "table", "ip", "proof"]);
  };
}

/** It says itself that it knows nothing, and that it knows everything again. */
async function untilReady(cluster: Cluster, pod: string, isReady: boolean): Promise<void> {
  const condition = `--for=condition=Ready=${isReady}`;
  await cluster.kubectl(["wait", condition, `pod/${pod}`, "-n", namespace, "--timeout=90s"]);
}
